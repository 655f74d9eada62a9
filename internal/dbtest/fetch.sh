# Unpacks packages of this Debian or Ubuntu into DIR/root. It doesn't install them, and
# doesn't need root. It is run as: sh -c <this> fetch DIR PACKAGE...
#
# We also unpack the dependencies that this machine lacks, except for those that are
# only needed for installing or for features that tests don't use. The output of apt is
# in DIR/log.
set -eu
dir=$1
shift
rm -rf "$dir"
mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/debs"

# apt's lists and files go into DIR too. We have to disable the hooks of the system's
# apt, because they clean up in /var.
cat >"$dir/apt.conf" <<EOF
Dir::State::Lists "$dir/lists";
Dir::Cache "$dir/cache";
Debug::NoLocking "true";
APT::Sandbox::User "";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
EOF
apt="apt-get -q -c $dir/apt.conf"
exec 3>&2 2>"$dir/log"

$apt update >&2
$apt install -y --reinstall --no-install-recommends --print-uris "$@" >"$dir/uris"
sed -n "s/^'[^']*' \([^_]*\)_[^ ]* \([0-9]*\).*/\1 \2/p" "$dir/uris" | grep -vE \
	'^(libllvm.*|libz3-.*|perl.*|lib.*-perl|libperl.*|locales|libc-l10n|postgresql-common|postgresql-client-common|ssl-cert|ucf|sensible-utils|netbase|readline-common) ' >"$dir/list"
awk -v dir="${dir%.part}" '{ size += $2 } END {
	printf "dbtest: fetching %d packages, %.0f MB, into %s; nothing is installed\n", NR, size / 1e6, dir }' "$dir/list" >&3
cd "$dir/debs"
$apt download $(cut -d ' ' -f 1 "$dir/list") >&2
for deb in *.deb; do
	dpkg-deb -x "$deb" "$dir/root"
done
rm -rf "$dir/lists" "$dir/cache" "$dir/debs" "$dir/uris" "$dir/apt.conf"
