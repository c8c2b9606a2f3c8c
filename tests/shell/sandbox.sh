# Runs in fresh user, mount, network and process namespaces. Nothing of the machine's own files is mounted but a few
# devices: the root is copied, so that a line can harm nothing.
# $1: an empty folder for the root; $2: the prepared programs and libraries; $3: the driver; $4: the folder of the world
set -eu
root=$1 prepared=$2 driver=$3 world=$4
mount --make-rprivate /
mount -t tmpfs -o size=512m,mode=755 root "$root"
cd "$root"
mkdir -p usr etc dev proc tmp home opt srv marks run var ".$world"
mount -t tmpfs -o size=384m,mode=755 usr usr
cp -a "$prepared/usr/." usr/
cp "$driver" usr/driver
mount -o remount,ro usr
for link in bin sbin lib lib32 lib64; do
    if [ -e "usr/$link" ]; then ln -s "usr/$link" "$link"; fi
done
mount -t tmpfs -o size=1m,mode=755 etc etc
printf 'root:x:0:0:root:%s:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n' "$world/home" > etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\n' > etc/group
cp "$prepared/ld.so.cache" etc/ 2>/dev/null || true
cp "$prepared/gitconfig" etc/
mount -o remount,ro etc
mount -t tmpfs -o size=1m,mode=755 dev dev
for device in null zero full random urandom; do
    : > "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
mkdir dev/pts
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts && ln -s pts/ptmx dev/ptmx || true
mount -o remount,ro dev
mount -t proc -o ro,nosuid,nodev,noexec proc proc
# Every reading shows in the time of access.
mount -t tmpfs -o size=32m,strictatime,mode=755 world ".$world"
: > .throw-away
ulimit -c 0
ulimit -f 8192
cd "$root"
exec chroot . /usr/driver driver "$world"
