// Requests to the server. Every one carries the header that makes the session's cookie count; a refusal becomes an ApiError.

export class ApiError extends Error {
  constructor(code, reason, message, details) {
    super(message);
    this.name = 'ApiError';
    Object.assign(this, { code, reason, details: details ?? {} });
  }
}

const HEADER = { 'X-Virtgate-UI': '1' };
const TIMEOUT_MS = 30_000;
let whenSignedOut = () => {};

/** Called when the server no longer knows who asks. */
export const onSignedOut = callback => { whenSignedOut = callback; };

export async function refusal(response) {
  const text = await response.text().catch(() => '');
  try {
    const status = JSON.parse(text);
    return new ApiError(response.status, status.reason ?? '', status.message || text, status.details);
  } catch {
    return new ApiError(response.status, response.statusText, text.trim() || `${response.status} ${response.statusText}`);
  }
}

const API = /^\/(api|apis|openapi|version)(\/|$|\?)/;
let apiPrefix = '';

/** Where the server has the API of Kubernetes; empty: where Kubernetes has it. */
export const setApiPrefix = prefix => { apiPrefix = prefix ?? ''; };
/** A path of that API as this server serves it; any other path as it is. */
export const placed = path => API.test(path) ? apiPrefix + path : path;

/** The answer itself; throws an ApiError for a refusal and for a server that cannot be reached (code 0). */
export async function send(method, path, { body, type = 'application/json', accept = 'application/json', signal, timeoutMs = TIMEOUT_MS, quiet = false } = {}) {
  const limits = [signal, timeoutMs ? AbortSignal.timeout(timeoutMs) : null].filter(Boolean);
  const headers = { ...HEADER, Accept: accept };
  if (body !== undefined) headers['Content-Type'] = type;
  let response;
  try {
    response = await fetch(placed(path), { method, headers, cache: 'no-store', credentials: 'same-origin', redirect: 'error', signal: limits.length ? AbortSignal.any(limits) : undefined,
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body) });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'Unreachable', error.name === 'TimeoutError' ? 'The server did not answer in time. Try again, or look at its log.' : 'The server cannot be reached. Check that virtgate is running and that this machine can reach it.');
  }
  if (response.ok) return response;
  const error = await refusal(response);
  if (error.code === 401 && !quiet) whenSignedOut();
  throw error;
}

const json = async response => response.status === 204 ? null : JSON.parse(await response.text() || 'null');

export const get = async (path, options) => json(await send('GET', path, options));
export const getText = async (path, options) => (await send('GET', path, options)).text();
export const getYaml = (path, options) => getText(path, { ...options, accept: 'application/yaml' });
export const post = async (path, body, options) => json(await send('POST', path, { body, ...options }));
export const put = async (path, body, options) => json(await send('PUT', path, { body, ...options }));
export const remove = async (path, options) => json(await send('DELETE', path, options));

/** A file of the page. */
export const asset = path => getText(path, { accept: '*/*' });
export const assetJson = async path => JSON.parse(await asset(path));

const query = parameters => {
  const text = new URLSearchParams(Object.entries(parameters ?? {}).filter(([, value]) => value !== undefined && value !== '')).toString();
  return text ? `?${text}` : '';
};

const GROUPS = {
  virtualmachines: '/apis/kubevirt.io/v1', virtualmachineinstances: '/apis/kubevirt.io/v1', virtualmachineinstancemigrations: '/apis/kubevirt.io/v1',
  requests: '/apis/trace.virtgate.io/v1', datavolumes: '/apis/cdi.kubevirt.io/v1beta1', virtualmachineclusterinstancetypes: '/apis/instancetype.kubevirt.io/v1beta1',
  virtualmachineinstancetypes: '/apis/instancetype.kubevirt.io/v1beta1', virtualmachineclusterpreferences: '/apis/instancetype.kubevirt.io/v1beta1',
  virtualmachinesnapshots: '/apis/snapshot.kubevirt.io/v1beta1', storageclasses: '/apis/storage.k8s.io/v1',
  nodes: '/api/v1', namespaces: '/api/v1', events: '/api/v1', persistentvolumeclaims: '/api/v1', persistentvolumes: '/api/v1',
};

/** The path of a resource: of a namespace, or of all of them; of one object, or of the list. */
export function resourcePath(resource, namespace = '', name = '', parameters = undefined) {
  const parts = [GROUPS[resource]];
  if (namespace) parts.push('namespaces', encodeURIComponent(namespace));
  parts.push(resource);
  if (name) parts.push(encodeURIComponent(name));
  return parts.join('/') + query(parameters);
}

export const actionPath = (resource, namespace, name, action) =>
  `/apis/subresources.kubevirt.io/v1/namespaces/${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(name)}/${action}`;

export const uiPath = (...parts) => `/ui/api/${parts.map(encodeURIComponent).join('/')}`;

const PAGE_SIZE = 500;

/** Every object of a list, a page at a time: `each` gets the items of one page. Returns the resource version of the list. */
export async function listAll(path, each, { signal, parameters } = {}) {
  for (let next = '', version = ''; ;) {
    const list = await get(path + query({ limit: PAGE_SIZE, continue: next, ...parameters }), { signal });
    version = list.metadata?.resourceVersion ?? version;
    each(list.items ?? []);
    next = list.metadata?.continue ?? '';
    if (!next) return version;
  }
}

/** All items of a list that is never long. */
export async function items(path, options) {
  const found = [];
  await listAll(path, page => found.push(...page), options);
  return found;
}
