#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# vm/kernel against an archive of our own, signed with a key of our own: what it
# picks, what it caches, and that only a verified index may say "not carried".

if [[ ${1-} == --help || $# != 0 ]]; then
	echo "Usage: tests/guest/kernel.sh"
	[[ ${1-} == --help ]]
	exit
fi
. "$(dirname "$0")/common.sh"

# gpg-agent's socket needs a short path
GNUPGHOME=$(mktemp -d /tmp/hugemr-gpg.XXXXXX)
export GNUPGHOME
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME" "$tmp"' EXIT
readonly mirror=$tmp/mirror
export XDG_CACHE_HOME=$tmp/cache
export HUGEMR_KEYRING=$tmp/keyring.gpg
export HUGEMR_MIRROR=file://$mirror HUGEMR_SECURITY_MIRROR=file://$mirror

# --- the archive

make_key() {
	gpg --batch --quiet --passphrase '' --quick-gen-key "$1" ed25519 sign 0
	gpg --batch --quiet --export "$1"
}

# put FILE OFFSET TEXT
put() {
	printf '%b' "$3" |
		dd of="$1" bs=1 seek="$(($2))" conv=notrunc status=none
}

# A kernel image of which no more than the setup header is true
make_image() {
	local -r file=$1 release=$2

	head -c 4096 /dev/zero >"$file"
	put "$file" 0x1f1 '\x01'
	put "$file" 0x202 HdrS
	put "$file" 0x20e '\x00\x02'
	put "$file" 0x400 "$release (me@here) #1"
}

# add_package SUITE PACKAGE VERSION [DEPENDS]: with a file in the pool
add_package() {
	local -r suite=$1 package=$2 version=$3 depends=${4-}
	local -r release=${package#linux-*-} deb=pool/$2_$3.deb
	local -r root=$tmp/root

	rm -rf "$root"
	mkdir -p "$root/DEBIAN" "$root/boot" "$root/lib/modules/$release" \
		"$mirror/pool" "$mirror/dists/$suite/main/binary-amd64"
	if [[ ! $depends ]]; then
		make_image "$root/boot/vmlinuz-$release" "$release"
		touch "$root/lib/modules/$release/modules."{order,builtin}
	fi
	{
		echo "Package: $package"
		echo "Version: $version"
		echo "Architecture: amd64"
		echo "Maintainer: nobody <nobody@localhost>"
		[[ ! $depends ]] || echo "Depends: $depends"
		echo "Description: a test"
	} >"$root/DEBIAN/control"
	dpkg-deb --root-owner-group -Znone --build "$root" "$mirror/$deb" \
		>/dev/null
	{
		cat "$root/DEBIAN/control"
		echo "Filename: $deb"
		echo "Size: $(stat -c %s "$mirror/$deb")"
		echo "SHA256: $(sha256sum <"$mirror/$deb" | cut -d ' ' -f 1)"
		echo
	} >>"$mirror/dists/$suite/main/binary-amd64/Packages"
}

# publish SUITE...: sign what is in them
publish() {
	local suite index

	for suite; do
		index=$mirror/dists/$suite/main/binary-amd64/Packages
		mkdir -p "${index%/*}"
		touch "$index"
		{
			echo "Suite: $suite"
			echo "Codename: $suite"
			echo "Date: $(date -Ru)"
			echo "Architectures: amd64"
			echo "Components: main"
			echo "SHA256:"
			echo " $(sha256sum <"$index" | cut -d ' ' -f 1)" \
				"$(stat -c %s "$index")" \
				"main/binary-amd64/Packages"
		} | gpg --batch --quiet --yes --clear-sign \
			--output "$mirror/dists/$suite/InRelease"
	done
}

make_key archive >"$HUGEMR_KEYRING"

# the newest by version, not by name or order, and of real images only
add_package bullseye linux-image-5.10.0-9-amd64 5.10.9-1
add_package bullseye-security linux-image-5.10.0-10-amd64 5.10.100-1
add_package bullseye-security linux-image-5.10.0-8-amd64 5.10.99-1
for decoy in linux-image-{amd64,5.10-amd64,5.10.0-11-{cloud,rt}-amd64} \
	linux-image-5.10.0-11-amd64-{dbg,unsigned} linux-headers-5.10.0-11-amd64; do
	add_package bullseye-security "$decoy" 5.10.200-1
done
add_package bullseye-security linux-image-6.1.0-0.deb11.5-amd64 6.1.200-1
# an image in parts, in the second group of suites
add_package forky linux-binary-7.3.5-amd64 7.3.5-1
add_package forky linux-image-7.3.5-amd64 7.3.5-1 \
	"dracut | initramfs-tools, linux-binary-7.3.5-amd64 (= 7.3.5-1)"
publish bullseye{,-security} bookworm{,-security} trixie{,-security,-backports} \
	forky sid experimental

# --- what is picked

expect 0 "$vm/kernel" 5.10
directory=$(<"$tmp/out")
contains "$directory/package" '^linux-image-5.10.0-10-amd64 5.10.100-1$'
contains "$directory/release" '^5.10.0-10-amd64$'
test -s "$directory/image" || fail "no image"
test -d "$directory/lib/modules/5.10.0-10-amd64" || fail "no modules"

expect 0 "$vm/kernel" 7.3
contains "$(<"$tmp/out")/package" '^linux-image-7.3.5-amd64 7.3.5-1$'
contains "$(<"$tmp/out")/release" '^7.3.5-amd64$'

# a prepared directory is a name, too, and so is an image
expect 0 "$vm/kernel" "$directory"
equal "$(<"$tmp/out")" "$directory" "the directory's own name"
make_image "$tmp/image" 6.6.6-mine
expect 0 "$vm/kernel" "$tmp/image"
contains "$(<"$tmp/out")/release" '^6.6.6-mine$'

# --- the cache needs no network, until asked to look again

expect 0 env HUGEMR_MIRROR=http://127.0.0.1:9/ "$vm/kernel" 5.10
equal "$(<"$tmp/out")" "$directory" "the cached directory"
add_package bullseye linux-image-5.10.0-12-amd64 5.10.120-1
publish bullseye
expect 0 "$vm/kernel" 5.10
equal "$(<"$tmp/out")" "$directory" "the cached directory"
expect 0 "$vm/kernel" --refresh 5.10
contains "$(<"$tmp/out")/release" '^5.10.0-12-amd64$'
refreshed=$(<"$tmp/out")
expect 0 "$vm/kernel" 5.10
equal "$(<"$tmp/out")" "$refreshed" "the cached directory"

# two at once
rm -rf "$XDG_CACHE_HOME"
"$vm/kernel" 5.10 >"$tmp/other" 2>/dev/null &
other=$!
expect 0 "$vm/kernel" 5.10
wait "$other" || fail "the other of two fetches failed"
same_file "$tmp/other" "$tmp/out"
equal "$(find "$XDG_CACHE_HOME" -name '.new-*')" "" "leftovers"

# --- 77 is the archive's own word, and nothing else's

expect 77 "$vm/kernel" 6.12
contains "$tmp/err" 'no suite of bookworm-security trixie trixie-security carries a linux 6.12 image'
expect 77 "$vm/kernel" --suites "bullseye sid" 7.3
contains "$tmp/err" 'no suite of bullseye sid carries a linux 7.3 image'

expect 1 env HUGEMR_SECURITY_MIRROR=http://127.0.0.1:9/ "$vm/kernel" 6.12
contains "$tmp/err" '127.0.0.1'
expect 1 env HUGEMR_MIRROR="file://$tmp/nowhere" "$vm/kernel" 6.12
make_key stranger >"$tmp/stranger.gpg"
expect 1 env HUGEMR_KEYRING="$tmp/stranger.gpg" "$vm/kernel" 6.12
expect 77 env HUGEMR_KEYRING="$tmp/none.gpg" "$vm/kernel" 6.12
contains "$tmp/err" 'debian-archive-keyring'

sed -i 's/7\.3\.5/7.3.6/' "$mirror/dists/forky/main/binary-amd64/Packages"
expect 1 "$vm/kernel" 7.3

# a package that is gone, and one that was altered
add_package bookworm linux-image-6.1.0-1-amd64 6.1.1-1
publish bookworm
mv "$mirror"/pool/linux-image-6.1.0-1-amd64_* "$tmp/deb"
expect 1 "$vm/kernel" 6.1
contains "$tmp/err" 'could not fetch linux-image-6.1.0-1-amd64 6.1.1-1'
equal "$(grep -c 'fetching' "$tmp/err")" 2 "attempts"
{ cat "$tmp/deb"; echo; } >"$mirror/pool/linux-image-6.1.0-1-amd64_6.1.1-1.deb"
expect 1 "$vm/kernel" 6.1
mv "$tmp/deb" "$mirror/pool/linux-image-6.1.0-1-amd64_6.1.1-1.deb"
expect 0 "$vm/kernel" 6.1
equal "$(find "$XDG_CACHE_HOME" -name '.new-*')" "" "leftovers"

for name in 4.19 5.10+nothing 5.10+ 4.19+base "" 5.1 debian; do
	expect 2 "$vm/kernel" "$name"
done
expect 2 "$vm/kernel"
expect 2 "$vm/kernel" 5.10 6.1
expect 2 "$vm/kernel" --suites
expect 2 "$vm/kernel" ./no-such-file
finish
