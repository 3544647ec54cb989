import { createPrivateKey, generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto';
import type { SecretLocation } from '../../commands/context.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import { type Actor, PLATFORM } from '../../domain/event.ts';
import { secret } from '../../domain/secret.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { Vault } from '../vault/vault.ts';

/** Signs texts with Ed25519. `signature` is base64url. */
export type SignText = (text: string) => { readonly signature: string; readonly key_id: string };

type Deps = {
  readonly log: Log;
  readonly vault: Pick<Vault, 'seal' | 'open'>;
  readonly now?: () => number;
  /** The actor of the event that records a new key. */
  readonly actor?: Actor;
};

export const privateKeyLocation = (key_id: string): SecretLocation => ({
  tenant: PLATFORM,
  category: AuditKey.category,
  id: key_id,
  field: 'private_key',
});

const signatureOf = (key: KeyObject, text: string): string => sign(null, Buffer.from(text), key).toString('base64url');

/** Returns the JWK thumbprint of an Ed25519 key (RFC 7638). */
const thumbprintOf = (x: string): string => hash('sha256', JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }), 'base64url');

const privateKeyOf = async ({ vault }: Deps, { key_id, sealed_private_key }: AuditKey.AuditKey): Promise<KeyObject> =>
  createPrivateKey((await vault.open(privateKeyLocation(key_id), sealed_private_key)).reveal());

/** The new key pair signs from now on; the previous private key signs the new public key. */
const addKey = async (deps: Deps, { keys }: AuditKey.AuditKeys): Promise<AuditKey.AuditKeys> => {
  const { log, vault, ...events } = deps;
  const previous = keys.at(-1);
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const public_key = publicKey.export({ format: 'jwk' }).x!;
  const key_id = thumbprintOf(public_key);
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
  const key: AuditKey.AuditKey = {
    key_id,
    public_key,
    sealed_private_key: await vault.seal(privateKeyLocation(key_id), secret(pem)),
    cross_signature: previous ? signatureOf(await privateKeyOf(deps, previous), AuditKey.keyText({ key_id, public_key })) : null,
  };
  const ctx = reactorContext(log, { ...events, seed: key_id });
  return (await ctx.transact(AuditKey, AuditKey.KEYS_ID, AuditKey.addKey(key, previous?.key_id ?? null))).state;
};

const loadKeys = async ({ log }: Deps): Promise<AuditKey.AuditKeys> => (await reactorContext(log).load(AuditKey, AuditKey.KEYS_ID)).state;

/** Signs with the newest key pair. Creates a key pair if there is none. */
export const openSigningKey = async (deps: Deps): Promise<SignText> => {
  const loaded = await loadKeys(deps);
  const { keys } = loaded.keys.length === 0 ? await addKey(deps, loaded) : loaded;
  const newest = keys.at(-1)!;
  const key = await privateKeyOf(deps, newest);
  return (text) => ({ signature: signatureOf(key, text), key_id: newest.key_id });
};

/** `sign` uses the key pair with the given id, or else the oldest. `public_key` is base64url. */
export type ReceiptSigner = {
  readonly newestKeyId: () => Promise<string>;
  readonly sign: (text: string, key_id?: string) => Promise<ReturnType<SignText> & { readonly public_key: string }>;
};

/** Signs with the oldest key by default, so that a receipt stays the same after the key for audit heads is replaced. */
export const openReceiptSigner = (deps: Deps): ReceiptSigner => {
  const existingKeys = async (): Promise<AuditKey.AuditKeys['keys']> => {
    const loaded = await loadKeys(deps);
    return (loaded.keys.length === 0 ? await addKey(deps, loaded) : loaded).keys;
  };
  return {
    newestKeyId: async () => (await existingKeys()).at(-1)!.key_id,
    sign: async (text, id) => {
      const keys = await existingKeys();
      const used = id === undefined ? keys[0] : keys.find(({ key_id }) => key_id === id);
      if (!used) throw new Error(`the platform has no signing key ${id}`);
      const { key_id, public_key } = used;
      return { signature: signatureOf(await privateKeyOf(deps, used), text), key_id, public_key };
    },
  };
};

/** `before` is null if there was none. */
export type KeyRotation = { readonly before: string | null; readonly after: string };

/**
 * The previous private key signs the new public key, so its signatures stay valid.
 * @throws LogError, Refusal unavailable
 */
export const rotateSigningKey = async (deps: Deps): Promise<KeyRotation> => {
  const loaded = await loadKeys(deps);
  const { keys } = await addKey(deps, loaded);
  return { before: loaded.keys.at(-1)?.key_id ?? null, after: keys.at(-1)!.key_id };
};
