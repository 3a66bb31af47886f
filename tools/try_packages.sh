#!/bin/sh
# ./dev package runs this in a new Debian system, beside the packages, as root.
set -eu
cd /try
mkdir -p /dev/shm /proc
[ -e /proc/self ] || mount -t proc proc /proc
export DEBIAN_FRONTEND=noninteractive
apt-get -q -y install --no-install-recommends ./troupe-gpu_*.deb ./troupe-gpu-cuda_*.deb
./hello
troupe info
echo "tried: a program and 'troupe info' with the Debian packages"

# The two must not help each other.
apt-get -q -y purge troupe-gpu troupe-gpu-cuda
apt-get -q -y autoremove --purge
python3 -m venv --system-site-packages /venv
mkdir -p /try/packages
mv ./*.whl /try/packages
/venv/bin/pip install --no-index --no-deps /try/packages/*.whl
/venv/bin/python follow_pages.py README.md first-model.md
/venv/bin/python -m troupe info
echo "tried: README.md and first-model.md with the wheel"
umount /proc 2>/dev/null || true
