// The disk under the database: how much room it has, whether this user may write there, and whether it is a local one.
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { platform } from 'node:os'
import { dirname } from 'node:path'

export interface DiskRoom {
  /** The folder of the database; where that is not there yet, the one that it would be made in. */
  folder: string
  free_bytes: number
  total_bytes: number
  is_writable: boolean
  /** Null where it is not known. */
  file_system: string | null
  is_network: boolean | null
}

/** What Linux calls them, by the number in statfs(2), and whether other machines are behind it. */
const fileSystems: Record<number, [name: string, isNetwork: boolean | null]> = {
  0xef53: ['ext', false],
  0x58465342: ['xfs', false],
  0x9123683e: ['btrfs', false],
  0x2fc12fc1: ['zfs', false],
  0x1021994: ['tmpfs', false],
  0x794c7630: ['overlay', false],
  0x6969: ['nfs', true],
  0x517b: ['smb', true],
  0xfe534d42: ['smb2', true],
  0xff534d42: ['cifs', true],
  0x1021997: ['9p', true],
  0xc36400: ['ceph', true],
  0x5346414f: ['afs', true],
  0xbd00bd0: ['lustre', true],
  0x47504653: ['gpfs', true],
  // It may be anything.
  0x65735546: ['fuse', null],
}

export function measureDisk(database: string, statfs = statfsSync): DiskRoom {
  let folder = dirname(database)
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  const { bavail, blocks, bsize, type } = statfs(folder)
  const [name, isNetwork] = (platform() === 'linux' ? fileSystems[type >>> 0] : undefined) ?? [null, null]
  return {
    folder,
    free_bytes: bavail * bsize,
    total_bytes: blocks * bsize,
    is_writable: mayWrite(folder) && (!existsSync(database) || mayWrite(database)),
    file_system: name,
    is_network: isNetwork,
  }
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
