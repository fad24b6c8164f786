// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "vfio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common.h"

#define DEVICES "/sys/bus/pci/devices"
#define DRIVER "/sys/bus/pci/drivers/vfio-pci"
#define UNSAFE "/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"
/* edu of QEMU */
#define EDU_VENDOR "0x1234"
#define EDU_DEVICE "0x11e8"

/* --- the device ---------------------------------------------------------- */

static bool device_file(char path[192], const char *device, const char *file)
{
	snprintf(path, 192, DEVICES "/%.32s/%s", device, file);
	return !access(path, F_OK);
}

static bool device_is(const char *device, const char *file, const char *value)
{
	char path[192], text[16];

	return device_file(path, device, file) &&
	       file_read(path, text, sizeof(text)) && !strcmp(text, value);
}

/* The first edu. */
static const char *find_device(void)
{
	static char found[32];
	DIR *dir = opendir(DEVICES);
	struct dirent *entry;

	while (!found[0] && dir && (entry = readdir(dir)))
		if (device_is(entry->d_name, "vendor", EDU_VENDOR) &&
		    device_is(entry->d_name, "device", EDU_DEVICE))
			snprintf(found, sizeof(found), "%.31s", entry->d_name);
	if (dir)
		closedir(dir);
	if (!found[0])
		die(EXIT_NOT_HERE, "no PCI device 1234:11e8 (QEMU's edu) here");
	return found;
}

/* The last component of what a link of the device points to; NULL for none. */
static const char *device_link(const char *device, const char *file,
			       char target[192])
{
	char path[192];
	ssize_t n;

	device_file(path, device, file);
	n = readlink(path, target, 191);
	if (n < 0)
		return NULL;
	target[n] = '\0';
	return strrchr(target, '/') ? strrchr(target, '/') + 1 : target;
}

static int container = -1, group = -1;

/* What this program has bound, and is to give back at its end. */
static const char *bound_device;

static void unbind(void)
{
	char path[192];

	close(group);
	close(container);
	file_write(DRIVER "/unbind", bound_device);
	device_file(path, bound_device, "driver_override");
	file_write(path, "\n");
}

static void bind(const char *device)
{
	char path[192], target[192];
	const char *driver = device_link(device, "driver", target);
	int ret;

	if (driver && !strcmp(driver, "vfio-pci"))
		return;
	if (driver)
		die(1, "%s is in use by the driver %s", device, driver);
	if (access(DRIVER, F_OK))
		die(EXIT_NOT_HERE, "no driver vfio-pci in this kernel");
	device_file(path, device, "driver_override");
	ret = file_write(path, "vfio-pci");
	if (ret)
		die(1, "%s: %s", path, strerror(-ret));
	bound_device = device;
	atexit(unbind);
	ret = file_write("/sys/bus/pci/drivers_probe", device);
	driver = device_link(device, "driver", target);
	if (ret || !driver || strcmp(driver, "vfio-pci"))
		die(1, "vfio-pci didn't take %s%s%s", device, ret ? ": " : "",
		    ret ? strerror(-ret) : "");
}

/* --- the container ------------------------------------------------------- */

static void open_container(void)
{
	container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	if (container < 0)
		die(errno == ENOENT || errno == ENODEV ? EXIT_NOT_HERE : 1,
		    "/dev/vfio/vfio (CONFIG_VFIO_CONTAINER): %m");
	if (ioctl(container, VFIO_GET_API_VERSION) != VFIO_API_VERSION)
		die(1, "VFIO of another version than %d", VFIO_API_VERSION);
	if (ioctl(container, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) != 1)
		die(EXIT_NOT_HERE,
		    "no type1v2 IOMMU in VFIO (vfio_iommu_type1)");
}

static void open_group(const char *device)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	char target[192], path[64];
	const char *number = device_link(device, "iommu_group", target);

	if (!number)
		die(EXIT_NOT_HERE,
		    "no IOMMU for %s (QEMU: -device intel-iommu; kernel: "
		    "intel_iommu=on)",
		    device);
	bind(device);
	snprintf(path, sizeof(path), "/dev/vfio/%.16s", number);
	group = open(path, O_RDWR | O_CLOEXEC);
	if (group < 0)
		die(1, "%s: %m", path);
	if (ioctl(group, VFIO_GROUP_GET_STATUS, &status))
		die(1, "VFIO_GROUP_GET_STATUS: %m");
	if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE))
		die(1, "the group of %s has devices that VFIO doesn't have",
		    device);
}

/* Without interrupt remapping VFIO has to be told that this is fine. */
static void set_iommu(void)
{
	int ret;

	if (ioctl(group, VFIO_GROUP_SET_CONTAINER, &container))
		die(1, "VFIO_GROUP_SET_CONTAINER: %m");
	if (!ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU))
		return;
	if (errno != EPERM)
		die(1, "VFIO_SET_IOMMU: %m");
	ret = setting_change(UNSAFE, "Y");
	if (ret)
		die(1, UNSAFE ": %s", strerror(-ret));
	if (ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU))
		die(1, "VFIO_SET_IOMMU: %m");
}

void vfio_open(struct vfio *v, const char *device)
{
	char path[192];

	if (!device)
		device = find_device();
	if (strchr(device, '/') || !device_file(path, device, "vendor"))
		die(1, "there is no PCI device '%s'", device);
	open_container();
	open_group(device);
	set_iommu();
	*v = (struct vfio){
		.container = container,
		.group = group,
		.device = device,
	};
}
