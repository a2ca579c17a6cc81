// What a dry run tells, in words: rows of details["virtgate.io"].would of a Status.

const shortPath = path => path.replace(/^\//, '').replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
const shortValue = value => {
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? '';
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
};

function patchWords(patch) {
  const operations = Array.isArray(patch) ? patch : [];
  if (operations.length === 0 && patch && typeof patch === 'object') return [shortValue(patch)];
  return operations.filter(one => one.op !== 'test').map(one => one.op === 'remove' ? `remove ${shortPath(one.path)}` : `set ${shortPath(one.path)} to ${shortValue(one.value)}`);
}

/** One sentence for each row. */
export function planWords(would) {
  return (would ?? []).flatMap(row => {
    if (row.call) return [`Call the node: ${row.call} ${row.path.split('/').slice(-1)[0]}`];
    const object = [(row.object ?? '').split('/').slice(-2).join('/'), row.subresource].filter(Boolean).join('/');
    if (row.patch !== undefined) return patchWords(row.patch).map(words => `Change ${object}: ${words}`);
    if (row.create !== undefined) return [`Create ${row.create?.kind ?? 'an object'} ${row.create?.metadata?.name ?? row.create?.metadata?.generateName ?? ''}`.trim()];
    if (row.delete !== undefined) return [`Delete ${object}`];
    const verb = Object.keys(row).find(key => key !== 'object' && key !== 'subresource');
    return verb ? [`${verb[0].toUpperCase()}${verb.slice(1)} ${object}`] : [];
  });
}

/** Results of many VMs, those with the same outcome together: [{outcome, ok, names}], refusals first. */
export function grouped(results) {
  const found = new Map();
  for (const { name, ok, text } of results) {
    // The name differs from VM to VM; what is left of the sentence does not.
    const outcome = text.replaceAll(`"${name}"`, 'it').replaceAll(new RegExp(`(/| )${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w.-])`, 'g'), '');
    const key = `${ok} ${outcome}`;
    if (!found.has(key)) found.set(key, { outcome: outcome, ok, names: [], text });
    found.get(key).names.push(name);
  }
  return [...found.values()].map(group => ({ outcome: group.names.length === 1 ? group.text : group.outcome, ok: group.ok, names: group.names }))
    .sort((a, b) => Number(a.ok) - Number(b.ok) || b.names.length - a.names.length);
}
