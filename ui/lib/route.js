// Addresses of the page: all behind the "#", so that the server serves one document.

const ROUTES = [
  ['login', []], ['login', ['code']], ['vms', []], ['vm', ['namespace', 'name'], 'vms'], ['vm', ['namespace', 'name', 'tab'], 'vms'], ['create', []],
  ['requests', []], ['request', ['namespace', 'id'], 'requests'], ['nodes', []], ['storage', []], ['about', []],
];

/** "#/vms/default/demo/yaml?x=1" -> {view, params, query, section}; null for an address that is none. */
export function parseRoute(hash) {
  const [path, search = ''] = String(hash ?? '').replace(/^#\/?/, '').split('?', 2);
  let parts;
  try { parts = path.split('/').filter(Boolean).map(decodeURIComponent); } catch { return null; }
  // Browsers take "." and ".." in a path for steps; no object is called so.
  if (parts.some(part => part === '.' || part === '..')) return null;
  const query = Object.fromEntries(new URLSearchParams(search));
  if (parts.length === 0) return { view: 'vms', params: {}, query, section: 'vms' };
  for (const [view, names, section = view] of ROUTES) {
    if (parts[0] !== section || parts.length - 1 !== names.length) continue;
    return { view, params: Object.fromEntries(names.map((name, at) => [name, parts[at + 1]])), query, section };
  }
  return null;
}

export function routeTo(parts, query) {
  const search = new URLSearchParams(Object.entries(query ?? {}).filter(([, value]) => value)).toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${search ? `?${search}` : ''}`;
}

export const vmLink = (namespace, name, tab) => routeTo(['vms', namespace, name, ...(tab ? [tab] : [])]);
