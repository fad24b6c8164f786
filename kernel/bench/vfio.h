/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A PCI device behind an IOMMU, with the driver vfio-pci. */
#ifndef BENCH_VFIO_H
#define BENCH_VFIO_H

struct vfio {
	int container;
	int group;
	const char *device;
};

/* Bind the device, such as 0000:00:05.0, or NULL for the first edu of QEMU, until
 * this program ends, and open its group in a container with an IOMMU of type 1.
 * What fails ends the program, with 77 where the machine has no such thing. Once
 * in a program, which has to close what it gets from the group before it ends. */
void vfio_open(struct vfio *v, const char *device);

#endif /* BENCH_VFIO_H */
