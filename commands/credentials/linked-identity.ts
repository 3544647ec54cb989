import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import type { Ctx, SecretLocation } from '../context.ts';

/** Returns the location of the encrypted secret of a linked identity: the password of a database, or tokens. */
export const identitySecret = (tenant: string, id: string): SecretLocation => ({
  tenant,
  category: LinkedIdentity.category,
  id,
  field: 'secret',
});

/** OAuth tokens in clear text. */
export type ClearTokens = { readonly access_token: string; readonly refresh_token: string | null };

/**
 * Unlinks an identity: from then on, no runner gets its secret, and a reactor soon revokes its tokens at the provider.
 * An agent that had it does not get it back if it is linked again.
 * @throws Refusal not_found
 */
export const unlinkIdentity = (ctx: Ctx, { id }: { readonly id: string }) => ctx.transact(LinkedIdentity, id, LinkedIdentity.unlink);
