import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import type { Ctx, SecretLocation } from '../context.ts';

/** The location of the encrypted database password or tokens. */
export const identitySecret = (tenant: string, id: string): SecretLocation => ({
  tenant,
  category: LinkedIdentity.category,
  id,
  field: 'secret',
});

export type ClearTokens = { readonly access_token: string; readonly refresh_token: string | null };

/** A reactor soon revokes the tokens at the provider. Linking the identity again does not return it to agents. @throws Refusal not_found */
export const unlinkIdentity = (ctx: Ctx, { id }: { readonly id: string }) => ctx.transact(LinkedIdentity, id, LinkedIdentity.unlink);
