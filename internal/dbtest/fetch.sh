# Unpacks packages of this Debian or Ubuntu into DIR/root. It doesn't install them, and
# doesn't need root. It is run as: sh -c <this> fetch DIR SUITE PACKAGE...
#
# We also unpack the dependencies that this machine lacks, except for those that are
# only needed for installing or for features that tests don't use.
#
# Unless SUITE is empty, it is another suite of Debian, such as unstable, which the
# mirror that apt uses has too. All dependencies are then unpacked, even the C library,
# because those of this machine may be too old.
set -eu
dir=$1 suite=$2
shift 2
rm -rf "$dir"
mkdir -p "$dir/root" "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial"

# apt's lists and files go into DIR too. We have to disable the hooks of the system's
# apt, because they clean up in /var.
cd "$dir/apt"
cat >conf <<EOF
Dir::State::Lists "$PWD/lists";
Dir::Cache "$PWD/cache";
Debug::NoLocking "true";
APT::Sandbox::User "";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
EOF
if [ -n "$suite" ]; then
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | grep -m 1 '/debian/*$') || {
		echo "apt uses no mirror of Debian"
		exit 1
	}
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >sources.list
	: >status # no package is installed
	cat >>conf <<EOF
Dir::Etc::SourceList "$PWD/sources.list";
Dir::Etc::SourceParts "-";
Dir::State::Status "$PWD/status";
EOF
fi
apt-get -q -c conf update
apt-get -q -c conf install -y --reinstall --no-install-recommends --print-uris "$@" >uris
apt-get -q -c conf download "$@" $(sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p" uris | grep -vxE \
	'libllvm.*|libz3-.*|perl.*|lib.*-perl|libperl.*|locales|libc-l10n|postgresql-common|postgresql-client-common|ssl-cert|ucf|sensible-utils|netbase|readline-common')
for deb in *.deb; do
	dpkg-deb -x "$deb" "$dir/root"
done
rm -rf "$dir/apt"

# Some links lead to a file in /etc, which is in DIR/root too. Java's configuration is one.
find "$dir/root" -type l -lname '/*' | while read -r link; do
	target=$(readlink "$link")
	if [ -e "$dir/root$target" ] || [ -L "$dir/root$target" ]; then
		ln -sfn "${dir%.part}/root$target" "$link"
	fi
done
