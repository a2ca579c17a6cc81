// What fills the nodes and the storage. Pure.
import { quantity } from './format.js';

/** A row for each node: what it has, what its VMIs were given, and whether it takes more. */
export function nodeRows(nodes, vmis) {
  const used = new Map();
  for (const vmi of vmis) {
    if (!vmi.node || /Succeeded|Failed/.test(vmi.phase)) continue;
    const one = used.get(vmi.node) ?? { vms: 0, vcpus: 0, memory: 0 };
    one.vms += 1;
    one.vcpus += vmi.vcpus || 0;
    one.memory += quantity(vmi.memory) || 0;
    used.set(vmi.node, one);
  }
  return nodes.map(node => {
    const ready = (node.status?.conditions ?? []).find(one => one.type === 'Ready'), labels = node.metadata.labels ?? {};
    const schedulable = labels['kubevirt.io/schedulable'] === 'true' && !node.spec?.unschedulable;
    return { name: node.metadata.name, ready: ready?.status === 'True', message: ready?.message ?? '', schedulable, cpu: quantity(node.status?.allocatable?.cpu ?? node.status?.capacity?.cpu), memory: quantity(node.status?.allocatable?.memory ?? node.status?.capacity?.memory),
      pods: quantity(node.status?.allocatable?.pods), used: used.get(node.metadata.name) ?? { vms: 0, vcpus: 0, memory: 0 }, info: node.status?.nodeInfo ?? {}, taints: node.spec?.taints ?? [], heartbeat: node.metadata.annotations?.['kubevirt.io/heartbeat'] ?? ready?.lastHeartbeatTime ?? '' };
  });
}

/** [[image, VMs]] of container disks in use, the most used first. */
export function imagesInUse(vmis) {
  const found = new Map();
  for (const vmi of vmis) for (const image of vmi.images) found.set(image, [...(found.get(image) ?? []), vmi]);
  return [...found].sort((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0]));
}

/** "namespace/claim" -> rows of VMs that use it */
export function claimUsers(rows) {
  const found = new Map();
  for (const row of rows) for (const claim of new Set([...(row.claims ?? []), ...(row.instance?.claims ?? [])])) {
    const key = `${row.namespace}/${claim}`;
    found.set(key, [...(found.get(key) ?? []), row]);
  }
  return found;
}

export const sum = (list, value) => list.reduce((total, one) => total + (value(one) || 0), 0);
