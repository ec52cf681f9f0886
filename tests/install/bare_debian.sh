#!/usr/bin/env bash
# bare_debian.sh FOLDER: on a Debian that has nothing but itself, made in FOLDER: the build's own setup, then
# `cmake --install` of a static and of a shared library; programs that use them by find_package and pkg-config, with g++ and
# with clang++; the tandem command where it is installed; a project that takes the sources in; and the .deb, installed by
# apt on another bare Debian and removed. Needs root, debootstrap, and a mirror as the machine's apt knows it.
# CCACHE_DIR, where it is set, is lent to the build.
set -euo pipefail
sources=$(cd "$(dirname "$0")/../.." && pwd)
folder=$1
mkdir -p "$folder"
for tool in debootstrap chroot mount; do
  command -v "$tool" >/dev/null && [ "$(id -u)" = 0 ] || {
    echo "SKIPPED: $tool and root are needed"
    exit 77
  }
done

mounted=()
trap 'for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do umount "${mounted[i]}"; done' EXIT
# debian NAME: a fresh one, in $folder/NAME.
debian() {
  [ -d "$folder/base" ] || debootstrap --variant=minbase bookworm "$folder/base" >"$folder/debootstrap.log"
  rm -rf "${folder:?}/$1"
  cp -a "$folder/base" "$folder/$1"
  cp /etc/apt/apt.conf.d/* "$folder/$1/etc/apt/apt.conf.d/"
  [ ! -d /etc/apt/sources.list.d ] || cp /etc/apt/sources.list.d/debian.sources "$folder/$1/etc/apt/sources.list.d/"
  mount -t proc proc "$folder/$1/proc"
  mounted+=("$folder/$1/proc")
  inside "$1" apt-get update -qq
}
# inside NAME COMMAND...: runs it there.
inside() {
  local name=$1
  shift
  DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$folder/$name" "$@"
}
step() { echo "bare_debian: $*"; }

debian build
mkdir -p "$folder/build/tandem"
git -C "$sources" archive HEAD | tar -x -C "$folder/build/tandem"
if [ -n "${CCACHE_DIR:-}" ]; then
  mkdir -p "$folder/build/ccache"
  mount --bind "$CCACHE_DIR" "$folder/build/ccache"
  mounted+=("$folder/build/ccache")
  export CCACHE_DIR=/ccache
fi
step "what ./run setup installs"
inside build /tandem/run setup
inside build apt-get install -y -qq --no-install-recommends clang pkg-config dpkg-dev >/dev/null

cat >"$folder/build/use.sh" <<'TEXT'
set -euo pipefail
# use.sh KIND PREFIX COMPILER: the outside project by find_package, and a program by pkg-config
outside=/tandem/tests/install work=/use/$1-$3
cmake -S $outside -B $work -G Ninja -D CMAKE_PREFIX_PATH=$2 -D CMAKE_CXX_COMPILER=$3 >/dev/null
cmake --build $work >/dev/null
$work/app && $work/own_names && $work/libtorch_app
options=$(PKG_CONFIG_PATH=$2/lib/pkgconfig pkg-config --cflags --libs tandem)
$3 -std=c++20 $outside/app.cpp -o $work/by_pkg_config $options -Wl,-rpath,$2/lib
$work/by_pkg_config
TEXT
for kind in static shared; do
  step "$kind: build and cmake --install"
  shared=OFF
  [ $kind = static ] || shared=ON
  inside build env CCACHE_BASEDIR=/tandem cmake -S /tandem -B /tandem/build/$kind -G Ninja -D BUILD_SHARED_LIBS=$shared \
    -D TANDEM_BUILD_TESTS=OFF -D TANDEM_BUILD_EXAMPLES=OFF -D TANDEM_BUILD_BENCHMARKS=OFF
  inside build env CCACHE_BASEDIR=/tandem cmake --build /tandem/build/$kind
  inside build cmake --install /tandem/build/$kind --prefix /opt/$kind >/dev/null
  for compiler in g++ clang++; do
    step "$kind: a program by find_package and by pkg-config, $compiler"
    inside build bash /use.sh $kind /opt/$kind $compiler
  done
  step "$kind: the .deb"
  inside build bash -c "cd /tandem/build/$kind && cpack -G DEB -B /packages/$kind" >/dev/null
done
step "the command where it is installed, with its library and data, when the build is gone"
inside build mv /tandem/build /tandem/build.away
inside build ldd /opt/shared/bin/tandem | grep libtandem
for kind in static shared; do
  inside build /opt/$kind/bin/tandem demo --mode ddp --model mlp --epochs 1 --batch-size 256
  inside build /opt/$kind/bin/tandem compare --quick --out /compare-$kind | tail -5
done
inside build mv /tandem/build.away /tandem/build

for kind in static shared; do
  debian "deb-$kind"
  cp "$folder"/build/packages/$kind/*.deb "$folder/deb-$kind/tandem.deb"
  step "$kind: apt installs the .deb on another bare Debian"
  inside "deb-$kind" apt-get install -y -qq --no-install-recommends /tandem.deb dataset-fashion-mnist >/dev/null
  inside "deb-$kind" dpkg-query -W -f '${Package} ${Version} ${Installed-Size} KiB: ${Depends}\n' tandem
  inside "deb-$kind" tandem demo --mode single --model mlp --epochs 1 --batch-size 256
  inside "deb-$kind" apt-get install -y -qq --no-install-recommends g++ pkg-config >/dev/null
  cp "$sources/tests/install/app.cpp" "$folder/deb-$kind/"
  inside "deb-$kind" sh -c 'g++ -std=c++20 app.cpp -o app $(pkg-config --cflags --libs tandem) && ./app'
  inside "deb-$kind" apt-get remove -y -qq tandem >/dev/null
  ! find "$folder/deb-$kind/usr" -iname '*tandem*' | grep .
done
step "a project of another standard takes the sources in, by FetchContent and by add_subdirectory: two whole builds"
while read -r compiler how; do
  inside build cmake -D SOURCE=/tandem -D WORK=/parent-$compiler -D COMPILER=$compiler -D WHOLE=$how \
    -P /tandem/tests/install/parent.cmake
done <<<$'g++ fetch\nclang++ subdirectory'
step "all done"
