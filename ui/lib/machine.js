// Parts of a VM's page from its objects: what disks, networks and facts there are. Pure.

const DEVICES = ['disk', 'cdrom', 'lun'];
const SOURCES = [
  ['containerDisk', source => `image ${source.image ?? ''}`], ['persistentVolumeClaim', source => `claim ${source.claimName ?? ''}`], ['dataVolume', source => `data volume ${source.name ?? ''}`],
  ['cloudInitNoCloud', () => 'cloud-init (NoCloud)'], ['cloudInitConfigDrive', () => 'cloud-init (config drive)'], ['emptyDisk', source => `empty disk of ${source.capacity ?? '?'}`],
  ['ephemeral', source => `overlay of claim ${source.persistentVolumeClaim?.claimName ?? ''}`], ['hostDisk', source => `host file ${source.path ?? ''}`], ['configMap', source => `config map ${source.name ?? ''}`],
  ['secret', source => `secret ${source.secretName ?? ''}`], ['serviceAccount', source => `service account ${source.serviceAccountName ?? ''}`], ['sysprep', () => 'sysprep answers'], ['downwardMetrics', () => 'metrics'], ['memoryDump', source => `memory dump in ${source.claimName ?? ''}`],
];

export function sourceText(volume) {
  const found = SOURCES.find(([key]) => volume?.[key]);
  return found ? found[1](volume[found[0]]) : 'none';
}

/** [{name, device, bus, source, target, size, hotplugged, claim}] */
export function disksOf(spec, status) {
  const volumes = new Map((spec?.volumes ?? []).map(volume => [volume.name, volume])), targets = new Map((status?.volumeStatus ?? []).map(one => [one.name, one]));
  const disks = spec?.domain?.devices?.disks ?? [];
  const rows = disks.map(disk => {
    const device = DEVICES.find(one => disk[one]) ?? 'disk', volume = volumes.get(disk.name), seen = targets.get(disk.name);
    volumes.delete(disk.name);
    return { name: disk.name, device, bus: disk[device]?.bus ?? '', source: sourceText(volume), target: seen?.target ?? '', size: seen?.persistentVolumeClaimInfo?.capacity?.storage ?? '', hotplugged: Boolean(seen?.hotplugVolume), claim: volume?.persistentVolumeClaim?.claimName ?? volume?.dataVolume?.name ?? '' };
  });
  return [...rows, ...[...volumes.values()].map(volume => ({ name: volume.name, device: 'disk', bus: '', source: sourceText(volume), target: targets.get(volume.name)?.target ?? '', size: targets.get(volume.name)?.persistentVolumeClaimInfo?.capacity?.storage ?? '', hotplugged: false, claim: volume.persistentVolumeClaim?.claimName ?? volume.dataVolume?.name ?? '' }))];
}

const BINDINGS = ['masquerade', 'bridge', 'sriov', 'passt', 'passtBinding', 'slirp', 'macvtap'];

/** [{name, binding, network, mac, addresses, link, model}] */
export function networksOf(spec, status) {
  const networks = new Map((spec?.networks ?? []).map(one => [one.name, one])), seen = new Map((status?.interfaces ?? []).map(one => [one.name, one]));
  return (spec?.domain?.devices?.interfaces ?? []).map(one => {
    const found = seen.get(one.name) ?? {}, network = networks.get(one.name);
    return { name: one.name, binding: one.binding?.name ?? BINDINGS.find(key => one[key]) ?? '', network: network?.multus ? network.multus.networkName ?? '' : network?.pod ? 'pod network' : '', mac: found.mac ?? one.macAddress ?? '', addresses: found.ipAddresses ?? (found.ipAddress ? [found.ipAddress] : []), link: found.linkState ?? one.state ?? '', model: one.model ?? 'virtio' };
  });
}

const GOOD_WHEN_TRUE = new Set(['Ready', 'AgentConnected', 'LiveMigratable', 'StorageLiveMigratable', 'DataVolumesReady', 'Synchronized', 'Provisioned', 'Initialized', 'PodScheduled']);

/** [{type, status, tone, reason, message, since}], what is wrong first. */
export function conditionsOf(...objects) {
  const found = new Map();
  for (const object of objects) for (const one of object?.status?.conditions ?? []) {
    const good = (one.status === 'True') === GOOD_WHEN_TRUE.has(one.type);
    found.set(one.type, { type: one.type, status: one.status, tone: good ? (one.status === 'True' ? 'good' : 'quiet') : one.type === 'Paused' || one.type === 'RestartRequired' || one.type.endsWith('LiveMigratable') ? 'warn' : 'bad', reason: one.reason ?? '', message: one.message ?? '', since: one.lastTransitionTime ?? '' });
  }
  const order = ['bad', 'warn', 'good', 'quiet'];
  return [...found.values()].sort((a, b) => order.indexOf(a.tone) - order.indexOf(b.tone));
}

/** Events and moments of a story as one time line, the newest first. */
export function timeline(moments, events, max = 100) {
  const rows = [...(moments ?? []).map(one => ({ time: one.time, text: one.text.replace(/^event /, ''), tone: /fail|error|refus|crash/i.test(one.text) ? 'bad' : 'quiet', kind: one.kind ?? '' })),
    ...(events ?? []).map(event => ({ time: event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp ?? event.metadata?.creationTimestamp, text: `${event.reason}: ${event.message ?? ''}`, tone: event.type === 'Warning' ? 'bad' : 'quiet', kind: event.involvedObject?.kind ?? '', count: event.count ?? 1 }))];
  const seen = new Set();
  // The story tells of events too: one line for what is the same.
  return rows.filter(row => { const key = `${row.time?.slice(0, 19)} ${row.text}`; if (seen.has(key)) return false; seen.add(key); return true; })
    .map((row, at) => [row, at]).sort((a, b) => Date.parse(b[0].time) - Date.parse(a[0].time) || b[1] - a[1]).slice(0, max).map(([row]) => row);
}
