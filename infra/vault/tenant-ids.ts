import type { Ctx } from '../../commands/context.ts';
import { PLATFORM } from '../../domain/event.ts';
import type { Vault } from './vault.ts';

/** Returns the function that derives ids, as commands use it. `current` is the tenant of their context. */
export const uniqueIdIn =
  (vault: Pick<Vault, 'uniqueId'>, current = PLATFORM): Ctx['uniqueId'] =>
  (kind, key, generation, tenant = current) =>
    vault.uniqueId(kind, tenant, key, generation);
