#!/usr/bin/env bash
# fetch_fashion_mnist.sh FOLDER: downloads FashionMNIST's four files from their published address, or from a mirror named
# by TANDEM_FASHION_MNIST_URL. FOLDER is created only if the SHA-256 of every unpacked file matches.
set -euo pipefail
[ $# = 1 ] || {
  echo "usage: fetch_fashion_mnist.sh FOLDER" >&2
  exit 2
}
folder=$1
url=${TANDEM_FASHION_MNIST_URL:-http://fashion-mnist.s3-website.eu-central-1.amazonaws.com}
command -v curl >/dev/null || {
  echo "fetch_fashion_mnist: curl is needed; or install the package dataset-fashion-mnist" >&2
  exit 1
}
part=$folder.part
trap 'rm -rf "$part"' EXIT
mkdir -p "$part"
while read -r sha256 name; do
  echo "fetching $url/$name.gz" >&2
  curl -fsSL --connect-timeout 20 --retry 2 -o "$part/$name.gz" "$url/$name.gz" || {
    echo "fetch_fashion_mnist: $url/$name.gz could not be fetched; put the four files into a folder yourself, and name it" \
      "with --data, or install the package dataset-fashion-mnist" >&2
    exit 1
  }
  found=$(gzip -dc "$part/$name.gz" | sha256sum | cut -d' ' -f1) || found="not a gzip file"
  [ "$found" = "$sha256" ] || {
    echo "fetch_fashion_mnist: the SHA-256 of $name is $found; it must be $sha256" >&2
    exit 1
  }
done <<'FILES'
c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888 train-images-idx3-ubyte
bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9 train-labels-idx1-ubyte
5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b t10k-images-idx3-ubyte
0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34 t10k-labels-idx1-ubyte
FILES
mv "$part" "$folder"
