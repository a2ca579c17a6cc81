// What can be done with a VM: one row each. From here come the buttons, what is asked of the server, and what is said of it.

const VMS = 'virtualmachines', VMIS = 'virtualmachineinstances', SUB = 'subresources.kubevirt.io';
const running = row => Boolean(row.instance) && row.instance.phase === 'Running';

export const actions = [
  { id: 'start', title: 'Start', done: 'started', resource: VMS, applies: row => !row.alone && !row.instance, hint: 'Only VMs that do not run can be started.' },
  { id: 'stop', title: 'Stop', done: 'asked to stop', resource: VMS, applies: row => !row.alone && (Boolean(row.instance) || !/Stopped|Stopping/.test(row.status)), hint: 'Only VMs that run can be stopped.', caution: 'Guests get their grace period to shut down.' },
  { id: 'restart', title: 'Restart', done: 'asked to restart', resource: VMS, applies: row => !row.alone && Boolean(row.instance), hint: 'Only VMs that run can be restarted.' },
  { id: 'pause', title: 'Pause', done: 'paused', resource: VMIS, applies: row => running(row) && !row.instance.paused, hint: 'Only running VMs can be paused.' },
  { id: 'unpause', title: 'Unpause', done: 'unpaused', resource: VMIS, applies: row => running(row) && row.instance.paused, hint: 'Only paused VMs can be unpaused.' },
  { id: 'migrate', title: 'Migrate', done: 'migrating', resource: VMS, applies: row => running(row) && !row.alone, hint: 'Only running VMs can be migrated to another node.' },
  { id: 'delete', title: 'Delete', done: 'deleted', resource: VMS, applies: row => !row.deleting, hint: 'It is being deleted already.', danger: true, caution: 'Guests are stopped. Disks that belong to the VM (data volume templates) go with it; claims of their own stay.' },
];

export const actionOf = id => actions.find(one => one.id === id);

const resourceOf = (action, row) => row.alone && action.id === 'delete' ? VMIS : action.resource;

/** {method, path} of an action on a row. */
export function requestOf(action, row, { resourcePath, actionPath }) {
  const resource = resourceOf(action, row);
  return action.id === 'delete' ? { method: 'DELETE', path: resourcePath(resource, row.namespace, row.name) } : { method: 'PUT', path: actionPath(resource, row.namespace, row.name, action.id) };
}

/** What must be allowed for it. */
export function checkOf(action, row, byName = true) {
  const resource = resourceOf(action, row), name = byName ? row.name : '';
  return action.id === 'delete' ? { verb: 'delete', group: 'kubevirt.io', resource, namespace: row.namespace, name }
    : { verb: 'update', group: SUB, resource, subresource: action.id, namespace: row.namespace, name };
}
