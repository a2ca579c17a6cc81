// The examples of the repository that a form can begin with. The files are served as they are in examples/.
export const EXAMPLES = [
  { file: 'vm.yaml', title: 'Demo guest', about: 'A tiny Linux that boots to a prompt within seconds. Log in as demo, password demo.' },
  { file: 'instance-type.yaml', title: 'Instance type', about: 'CPUs and memory by name: an instance type and a preference.' },
  { file: 'cloud-image.yaml', title: 'Cloud image', about: 'A cloud image of a distribution from a registry, with a disk that is kept.' },
  { file: 'windows.yaml', title: 'Windows', about: 'UEFI with Secure Boot, a TPM, Hyper-V enlightenments; installed from your own medium.' },
  { file: 'kernel-boot.yaml', title: 'Kernel boot', about: 'A VMI whose kernel comes out of a container image: the quickest start.' },
  { file: 'disk.yaml', title: 'Blank disk', about: 'A data volume that can be plugged into a running VM.' },
  { file: 'snapshot.yaml', title: 'Snapshot', about: 'What the claims of a VM hold now; the guest runs on.' },
  { file: 'restore.yaml', title: 'Restore', about: 'Back to a snapshot; the VM must be stopped.' },
];

/** kind of a manifest -> where it is created */
export const RESOURCES = {
  'kubevirt.io/v1 VirtualMachine': '/apis/kubevirt.io/v1/namespaces/NS/virtualmachines', 'kubevirt.io/v1 VirtualMachineInstance': '/apis/kubevirt.io/v1/namespaces/NS/virtualmachineinstances',
  'cdi.kubevirt.io/v1beta1 DataVolume': '/apis/cdi.kubevirt.io/v1beta1/namespaces/NS/datavolumes', 'v1 PersistentVolumeClaim': '/api/v1/namespaces/NS/persistentvolumeclaims',
  'snapshot.kubevirt.io/v1beta1 VirtualMachineSnapshot': '/apis/snapshot.kubevirt.io/v1beta1/namespaces/NS/virtualmachinesnapshots', 'snapshot.kubevirt.io/v1beta1 VirtualMachineRestore': '/apis/snapshot.kubevirt.io/v1beta1/namespaces/NS/virtualmachinerestores',
  'kubevirt.io/v1 VirtualMachineInstanceMigration': '/apis/kubevirt.io/v1/namespaces/NS/virtualmachineinstancemigrations',
};

/** The first document of a manifest that may have several: this page creates one object at a time. [texts] */
export const documentsOf = text => text.split(/^---\s*$/m).filter(part => part.replace(/^\s*#.*$/gm, '').trim() !== '').map(part => part.replace(/^\n+/, ''));
