// An instance of the Agent Approval Protocol: an agent and its key, made by a provisioner. It is over once the key is revoked.

export interface Instance {
  id: string
  version: number
  /** Whose it is, by name: to others it does not exist. */
  provisioner: string
  /** The agent's name on record, as requester and as the key's owner. It is its own and stays. */
  person: string
  /** What the provisioner calls it. */
  name: string
  /** The key that it was given. */
  keyId: string
  createdAt: number
}
