import type { Secrets } from '../../commands/context.ts';
import { PLATFORM } from '../../domain/event.ts';
import type { Vault } from './vault.ts';

/** `current` is the tenant of the command's context. */
export const uniqueIdIn =
  (vault: Pick<Vault, 'uniqueId'>, current = PLATFORM): Secrets['uniqueId'] =>
  (kind, key, generation, tenant = current) =>
    vault.uniqueId(kind, tenant, key, generation);
