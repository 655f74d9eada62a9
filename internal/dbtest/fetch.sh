# Unpacks packages of this Debian or Ubuntu into DIR/root. It doesn't install them, and
# doesn't need root. It is run as: sh -c <this> fetch DIR SUITE PACKAGE...
#
# We also unpack the dependencies that this machine lacks, except for those that are
# only needed for installing or for features that tests don't use. The output of apt is
# in DIR/log.
#
# Unless SUITE is empty, it is another suite of Debian, such as unstable, which the
# mirror that apt uses has too. All dependencies are then unpacked, even the C library,
# because those of this machine may be too old.
set -eu
dir=$1 suite=$2
shift 2
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

if [ -n "$suite" ]; then
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | grep -m 1 '/debian/*$') || {
		echo "apt uses no mirror of Debian" >&2
		exit 1
	}
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$dir/sources.list"
	: >"$dir/status" # no package is installed
	cat >>"$dir/apt.conf" <<EOF
Dir::Etc::SourceList "$dir/sources.list";
Dir::Etc::SourceParts "-";
Dir::State::Status "$dir/status";
EOF
fi

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

# Some links lead to a file in /etc, which is in DIR/root too. Java's configuration is one.
find "$dir/root" -type l -lname '/*' | while read -r link; do
	target=$(readlink "$link")
	if [ -e "$dir/root$target" ] || [ -L "$dir/root$target" ]; then
		ln -sfn "${dir%.part}/root$target" "$link"
	fi
done
rm -rf "$dir/lists" "$dir/cache" "$dir/debs" "$dir/uris" "$dir/apt.conf" "$dir/status"
