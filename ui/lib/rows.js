// What the page keeps of an object: a list of ten thousand VMs holds rows like these and not the objects themselves.
import { quantity } from './format.js';

const condition = (object, type) => (object.status?.conditions ?? []).find(one => one.type === type);

/** cores * sockets * threads, as KubeVirt counts them. */
export function vcpus(domain) {
  const cpu = domain?.cpu;
  if (!cpu) {
    const asked = quantity(domain?.resources?.requests?.cpu ?? domain?.resources?.limits?.cpu);
    return Number.isFinite(asked) ? Math.max(1, Math.ceil(asked)) : 1;
  }
  return (cpu.cores || 1) * (cpu.sockets || 1) * (cpu.threads || 1);
}

export function memoryText(domain) {
  return domain?.memory?.guest ?? domain?.resources?.requests?.memory ?? domain?.resources?.limits?.memory ?? '';
}

export const keyOf = metadata => `${metadata.namespace ?? ''}/${metadata.name}`;

// Texts that many rows share (namespaces, nodes, statuses, labels) are kept once.
const shared = new Map();
const SHARED_MAX = 20000;
function once(text) {
  if (typeof text !== 'string') return text;
  const found = shared.get(text);
  if (found !== undefined) return found;
  if (shared.size < SHARED_MAX) shared.set(text, text);
  return text;
}

function labelsOf(metadata) {
  const found = {};
  for (const [key, value] of Object.entries(metadata.labels ?? {})) found[once(key)] = once(value);
  return found;
}

export function vmRow(vm) {
  const spec = vm.spec ?? {}, status = vm.status ?? {}, domain = spec.template?.spec?.domain;
  return {
    kind: 'VirtualMachine',
    name: vm.metadata.name, namespace: once(vm.metadata.namespace ?? ''), uid: vm.metadata.uid, version: vm.metadata.resourceVersion,
    created: vm.metadata.creationTimestamp, deleting: Boolean(vm.metadata.deletionTimestamp), labels: labelsOf(vm.metadata),
    status: once(status.printableStatus ?? 'Unknown'), ready: status.ready === true,
    strategy: once(spec.runStrategy ?? (spec.running === true ? 'Always' : spec.running === false ? 'Halted' : '')),
    instancetype: once(spec.instancetype?.name ?? ''), vcpus: domain ? vcpus(domain) : 1, memory: once(memoryText(domain)),
    claims: claimsOf(spec.template?.spec?.volumes), problem: once(problemOf(vm)), restart: condition(vm, 'RestartRequired')?.status === 'True',
  };
}

// The one condition that a list should show beside the status.
function problemOf(vm) {
  const failure = condition(vm, 'Failure');
  if (failure?.status === 'True') return failure.message ?? failure.reason ?? '';
  const ready = condition(vm, 'Ready');
  return ready?.status === 'False' && ready.reason && ready.reason !== 'VMINotExists' && ready.reason !== 'GuestNotRunning' ? ready.message ?? ready.reason : '';
}

const NONE = Object.freeze([]);
const listed = list => list.length > 0 ? list : NONE;
export const imagesOf = volumes => listed((volumes ?? []).map(one => once(one.containerDisk?.image)).filter(Boolean));
export const claimsOf = volumes => listed((volumes ?? []).map(one => once(one.persistentVolumeClaim?.claimName ?? one.dataVolume?.name)).filter(Boolean));

export function vmiRow(vmi) {
  const status = vmi.status ?? {}, first = (status.interfaces ?? [])[0];
  return {
    kind: 'VirtualMachineInstance',
    name: vmi.metadata.name, namespace: once(vmi.metadata.namespace ?? ''), uid: vmi.metadata.uid, version: vmi.metadata.resourceVersion,
    created: vmi.metadata.creationTimestamp, deleting: Boolean(vmi.metadata.deletionTimestamp), labels: labelsOf(vmi.metadata),
    phase: once(status.phase ?? ''), node: once(status.nodeName ?? ''), address: first?.ipAddress ?? '', os: once(status.guestOSInfo?.prettyName ?? ''),
    paused: condition(vmi, 'Paused')?.status === 'True', migratable: condition(vmi, 'LiveMigratable')?.status !== 'False',
    migrating: Boolean(status.migrationState && !status.migrationState.completed && !status.migrationState.endTimestamp && status.migrationState.startTimestamp),
    owned: (vmi.metadata.ownerReferences ?? []).some(one => one.kind === 'VirtualMachine' && one.controller),
    vcpus: vcpus(vmi.spec?.domain), memory: once(status.memory?.guestCurrent ?? memoryText(vmi.spec?.domain)),
    images: imagesOf(vmi.spec?.volumes), claims: claimsOf(vmi.spec?.volumes),
    started: (status.phaseTransitionTimestamps ?? []).find(one => one.phase === 'Running')?.phaseTransitionTimestamp ?? '',
  };
}

/** One line of the list: a VM with its VMI, or a VMI that no VM owns. */
export function joined(key, vm, vmi) {
  if (!vm) {
    return { ...vmi, key, alone: true, status: vmi.paused ? 'Paused' : vmi.deleting ? 'Terminating' : vmi.phase || 'Pending', strategy: '', instancetype: '',
      problem: '', ready: vmi.phase === 'Running', restart: false, instance: vmi };
  }
  return { ...vm, key, alone: false, node: vmi?.node ?? '', address: vmi?.address ?? '', os: vmi?.os ?? '', started: vmi?.started ?? '',
    migratable: vmi?.migratable ?? false, vcpus: vmi?.vcpus ?? vm.vcpus, memory: vmi?.memory || vm.memory, instance: vmi ?? null };
}

const TONES = {
  Running: 'good', Succeeded: 'quiet', Stopped: 'quiet', Halted: 'quiet', Paused: 'warn', Migrating: 'busy', Starting: 'busy', Stopping: 'busy', Terminating: 'busy',
  Provisioning: 'busy', WaitingForVolumeBinding: 'busy', WaitingForReceiver: 'busy', Pending: 'busy', Scheduling: 'busy', Scheduled: 'busy',
  CrashLoopBackOff: 'bad', Failed: 'bad', ErrorUnschedulable: 'bad', ErrImagePull: 'bad', ImagePullBackOff: 'bad', ErrorPvcNotFound: 'bad', DataVolumeError: 'bad', Unknown: 'bad',
};

/** good, busy, warn, bad or quiet: how a status is coloured. The word itself always stands beside the colour. */
export const toneOf = status => TONES[status] ?? (/Err|Fail|Back/.test(status) ? 'bad' : 'busy');
