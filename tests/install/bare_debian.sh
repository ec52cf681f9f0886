#!/usr/bin/env bash
# bare_debian.sh FOLDER [SUITE]: creates a minimal Debian (bookworm, or SUITE: trixie has g++ 14) in FOLDER, and tests
# there: setup and a build without warnings; `cmake --install` of a static and of a shared library; programs that use
# them by find_package and pkg-config, with g++ and clang++; the installed tandem command; a project that includes the
# sources; and the .deb, installed by apt on another minimal Debian and removed. Needs root, debootstrap, and a package
# mirror from the machine's apt settings. If CCACHE_DIR is set, the build uses it. TANDEM_JOBS: number of compilers to
# run at once.
set -euo pipefail
sources=$(cd "$(dirname "$0")/../.." && pwd)
folder=$1 suite=${2:-bookworm}
mkdir -p "$folder"
export CMAKE_BUILD_PARALLEL_LEVEL=${TANDEM_JOBS:-$(nproc)}
for tool in debootstrap chroot mount; do
  command -v "$tool" >/dev/null && [ "$(id -u)" = 0 ] || {
    echo "SKIPPED: $tool and root are needed"
    exit 77
  }
done

mounted=()
trap 'for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do umount "${mounted[i]}"; done' EXIT
# debian NAME: creates a fresh Debian in $folder/NAME.
debian() {
  [ -d "$folder/base-$suite" ] || debootstrap --variant=minbase "$suite" "$folder/base-$suite" >"$folder/debootstrap.log"
  rm -rf "${folder:?}/$1"
  cp -a "$folder/base-$suite" "$folder/$1"
  cp /etc/apt/apt.conf.d/* "$folder/$1/etc/apt/apt.conf.d/"
  sed "s/bookworm/$suite/g" /etc/apt/sources.list.d/debian.sources >"$folder/$1/etc/apt/sources.list.d/debian.sources"
  : >"$folder/$1/etc/apt/sources.list"
  mount -t proc proc "$folder/$1/proc"
  mounted+=("$folder/$1/proc")
  mount -t devpts devpts "$folder/$1/dev/pts"
  mounted+=("$folder/$1/dev/pts")
  inside "$1" apt-get update -qq
}
# inside NAME COMMAND...: runs the command there.
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
step "packages that ./run setup installs"
inside build /tandem/run setup
inside build apt-get install -y -qq --no-install-recommends clang pkg-config dpkg-dev file >/dev/null

for kind in static shared; do
  step "$kind: build"
  shared=OFF
  [ $kind = static ] || shared=ON
  inside build env CCACHE_BASEDIR=/tandem cmake -S /tandem -B /tandem/build/$kind -G Ninja -D BUILD_SHARED_LIBS=$shared -D TANDEM_WERROR=ON \
    -D TANDEM_BUILD_TESTS=OFF -D TANDEM_BUILD_EXAMPLES=OFF -D TANDEM_BUILD_BENCHMARKS=OFF
  inside build env CCACHE_BASEDIR=/tandem cmake --build /tandem/build/$kind
  for compiler in g++ clang++; do
    step "$kind: cmake --install, then programs by find_package and pkg-config, $compiler"
    inside build cmake -D BUILD=/tandem/build/$kind -D WORK=/use/$kind-$compiler -D GENERATOR=Ninja -D COMPILER=$compiler \
      -D FLAGS= -P /tandem/tests/install/run.cmake
  done
  step "$kind: the .deb"
  inside build cmake -D BUILD=/tandem/build/$kind -D WORK=/package/$kind -P /tandem/tests/install/package.cmake
  inside build cmake --install /tandem/build/$kind --prefix /opt/$kind >/dev/null
done
step "the installed command, its library and data, without the build"
inside build mv /tandem/build /tandem/build.away
inside build ldd /opt/shared/bin/tandem | grep libtandem
for kind in static shared; do
  inside build /opt/$kind/bin/tandem demo --mode ddp --model mlp --epochs 1 --batch-size 256
  inside build /opt/$kind/bin/tandem compare --quick --out /compare-$kind | tail -5
done
inside build mv /tandem/build.away /tandem/build

for kind in static shared; do
  debian "deb-$kind"
  cp "$folder"/build/package/$kind/*.deb "$folder/deb-$kind/tandem.deb"
  step "$kind: apt installs the .deb on another bare Debian"
  inside "deb-$kind" apt-get install -y -qq --no-install-recommends /tandem.deb dataset-fashion-mnist >/dev/null
  inside "deb-$kind" dpkg-query -W -f '${Package} ${Version} ${Installed-Size} KiB: ${Depends}\n' tandem
  inside "deb-$kind" tandem demo --mode single --model mlp --epochs 1 --batch-size 256
  inside "deb-$kind" apt-get install -y -qq --no-install-recommends g++ pkg-config >/dev/null
  cp "$sources/tests/install/app.cpp" "$folder/deb-$kind/"
  inside "deb-$kind" sh -c 'g++ -std=c++20 app.cpp -o app $(pkg-config --cflags --libs tandem) && ./app'
  inside "deb-$kind" apt-get remove -y -qq tandem >/dev/null
  if find "$folder/deb-$kind/usr" -iname '*tandem*' | grep .; then
    echo "bare_debian: removing the package leaves these files"
    exit 1
  fi
done
step "a project with another C++ standard includes the sources, by FetchContent and by add_subdirectory: two full builds"
while read -r compiler how; do
  inside build cmake -D SOURCE=/tandem -D WORK=/parent-$compiler -D COMPILER=$compiler -D WHOLE=$how \
    -P /tandem/tests/install/parent.cmake </dev/null
done <<<$'g++ fetch\nclang++ subdirectory'
step "all done"
