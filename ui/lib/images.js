// Container disks: what nodes say that they have (Node.status.images), and what of it is in use. Pure.
import { imagesInUse } from './capacity.js';

/** A row for each image: {name, bytes, nodes, users}; those in use first, then the largest. Of an image that no node tells of, only its users are known. */
export function imageRows(nodes, vmis) {
  const rows = new Map(imagesInUse(vmis).map(([name, users]) => [name, { name, bytes: NaN, nodes: [], users }]));
  for (const node of nodes) for (const image of node.status?.images ?? []) {
    // Each has its name first; the one with a digest names the same.
    const name = image.names?.find(one => rows.has(one)) ?? image.names?.[0];
    if (!name) continue;
    const row = rows.get(name) ?? { name, bytes: NaN, nodes: [], users: [] };
    row.bytes = image.sizeBytes ?? row.bytes;
    if (!row.nodes.includes(node.metadata.name)) row.nodes.push(node.metadata.name);
    rows.set(name, row);
  }
  return [...rows.values()].sort((a, b) => b.users.length - a.users.length || (b.bytes || 0) - (a.bytes || 0) || a.name.localeCompare(b.name));
}
