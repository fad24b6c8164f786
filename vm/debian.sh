# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # $program is the caller's name
#
# Packages from Debian's archive, of suites that the host doesn't use, for
# vm/kernel and kernel/build: through a private apt root with own sources, lists
# and cache, no look at the host's package set, no root. What apt verifies is
# verified here too, and only apt's own answer to a verified index may say that
# a version is gone.

readonly debian=/usr/share/keyrings/debian-archive-keyring.gpg
readonly keyring=${HUGEMR_KEYRING:-$debian}

# Where to look for each X.Y: groups of suites separated by "/". The first
# group that carries the version wins, and the newest package of that group.
# shellcheck disable=SC2034 # for those who source this
declare -Ar stock_suites=(
	[5.10]="bullseye bullseye-security"
	[6.1]="bookworm bookworm-security"
	[6.12]="bookworm-security / trixie trixie-security"
	[7.3]="trixie-backports / forky sid / experimental"
)

note() {
	echo "$program: $*" >&2
}

# die STATUS TEXT...
die() {
	local -r status=$1

	shift
	note "$@"
	exit "$status"
}

need() {
	local -r tool=$1 package=$2

	command -v "$tool" >/dev/null ||
		die 77 "$tool is missing: install the package $package"
}

# host_mirror SUITE...: the first of the host's own sources with such a suite
host_mirror() {
	local suites

	suites=$(printf '|%s' "$@")
	apt-get update --print-uris 2>/dev/null | sed -nE \
		"s,^'(.*)/dists/(${suites:1})/main/binary-[^/]*/.*,\1,p" |
		head -n 1 || true
}

mirror_of() {
	local -r suite=$1
	local codename uri

	# shellcheck disable=SC1091 # the host's own
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-none}")
	if [[ $suite == *-security ]]; then
		uri=${HUGEMR_SECURITY_MIRROR:-$(host_mirror \
			{"$codename",stable,oldstable,testing}-security)}
		[[ $uri ]] || die 77 "no Debian security source among apt's:" \
			"set HUGEMR_SECURITY_MIRROR"
	else
		uri=${HUGEMR_MIRROR:-$(host_mirror \
			"$codename" stable oldstable testing unstable sid)}
		[[ $uri ]] || die 77 "no Debian source among apt's:" \
			"set HUGEMR_MIRROR"
	fi
	echo "$uri"
}

# apt_root DIR SUITE...: a private root for apt. The host's apt.conf.d still
# counts (proxies!), but not its hooks, sources, pins and installed packages.
apt_root() {
	local -r dir=$1
	local suite uri

	shift
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/deb"
	: >"$dir/status"
	for suite; do
		uri=$(mirror_of "$suite")
		echo "deb [arch=amd64 signed-by=$keyring] $uri $suite main"
	done >"$dir/sources.list"
	cat >"$dir/apt.conf" <<-END
	#clear APT::Update::Pre-Invoke;
	#clear APT::Update::Post-Invoke;
	#clear APT::Update::Post-Invoke-Success;
	#clear APT::Architectures;
	APT::Architecture "amd64";
	APT::Architectures { "amd64"; };
	APT::Sandbox::User "";
	APT::Update::Error-Mode "any";
	Acquire::Languages "none";
	Acquire::Retries "3";
	Dir::Etc::sourcelist "$dir/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	Dir::State "$dir";
	Dir::State::lists "$dir/lists";
	Dir::State::status "$dir/status";
	Dir::Cache "$dir/cache";
	END
}

# Fetch and verify the indices. apt puts a Release file among its lists once its
# signature is good; without one of every suite there is no answer, whatever apt
# returned.
apt_update() {
	local -r dir=$1
	local -a release
	local suite

	note "reading $(cut -d ' ' -f 5 "$dir/sources.list" | paste -sd ' ')"
	apt-get -qq -c "$dir/apt.conf" update >&2 || return 1
	while read -r _ _ _ _ suite _; do
		release=("$dir"/lists/*_dists_"$suite"_{In,}Release)
		[[ ${release[*]} ]] && continue
		note "apt has no verified Release of $suite"
		return 1
	done <"$dir/sources.list"
}

index_files() {
	# shellcheck disable=SC2016 # apt expands it
	apt-get -c "$1/apt.conf" indextargets --format '$(FILENAME)' \
		"Created-By: Packages"
}

# candidates DIR KIND X.Y: a line "VERSION PACKAGE [PART]..." for each generic
# image (KIND image) or source (KIND source). Since 7.3 the image package is an
# empty one that depends on its parts by version.
candidates() {
	local -r dir=$1 kind=$2 xy=$3
	local file

	index_files "$dir" | while read -r file; do
		/usr/lib/apt/apt-helper cat-file "$file" || return
	done | awk -v kind="$kind" -v xy="$xy" '
	function wanted() {
		if (index(version, xy ".") != 1)
			return 0
		if (kind == "source")
			return name == "linux-source-" xy
		return index(name, "linux-image-" xy ".") == 1 &&
			name ~ /-amd64$/ && name !~ /-(cloud|rt)-amd64$/
	}
	/^Package: / { name = $2; version = depends = "" }
	/^Version: / { version = $2 }
	/^Depends: / { depends = substr($0, 10) }
	/^$/ {
		if (name && wanted()) {
			parts = ""
			n = split(depends, dep, ", *")
			for (i = 1; i <= n; i++)
				if (at = index(dep[i], " (= " version ")"))
					parts = parts " " substr(dep[i], 1, at - 1)
			print version, name parts
		}
		name = ""
	}'
}

# pick DIR KIND X.Y: set the array "picked" to the newest candidate, or to nothing
pick() {
	local -r dir=$1
	local line best=

	candidates "$@" >"$dir/candidates" ||
		die 1 "could not read the indices that apt fetched"
	while read -r line; do
		if [[ -z $best ]] ||
		   dpkg --compare-versions "${line%% *}" gt "${best%% *}"; then
			best=$line
		fi
	done <"$dir/candidates"
	read -ra picked <<<"$best"
}

# download DIR VERSION PACKAGE...
download() {
	local -r dir=$1 version=$2

	shift 2
	note "fetching $1 $version"
	(cd "$dir/deb" && apt-get -q -c "$dir/apt.conf" download \
		"${@/%/=$version}" >&2)
}

# find_package DIR KIND X.Y GROUPS: leave the answer in "picked"
find_package() {
	local -r dir=$1 kind=$2 xy=$3 groups=$4
	local -a group

	while read -ra group -d /; do
		rm -rf "$dir/lists"
		apt_root "$dir" "${group[@]}"
		apt_update "$dir" || die 1 "could not read ${group[*]}"
		pick "$dir" "$kind" "$xy"
		[[ ${picked[*]} ]] && return
	done <<<"$groups/"
	die 77 "no suite of ${groups// \/ / } carries a linux $xy $kind"
}

# fetch_package DIR KIND X.Y GROUPS: into DIR/deb, and its name to "picked"
fetch_package() {
	local -r dir=$1

	[[ -r $keyring ]] || die 77 "$keyring is missing:" \
		"install the package debian-archive-keyring"
	find_package "$@"
	# a point release may be replaced between the index and the download
	if ! download "$dir" "${picked[@]}"; then
		find_package "$@"
		download "$dir" "${picked[@]}" ||
			die 1 "could not fetch ${picked[1]} ${picked[0]}"
	fi
}
