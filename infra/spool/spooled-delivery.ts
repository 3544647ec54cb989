import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { NewDelivery } from '../../commands/deliveries/webhook-ports.ts';
import { chunksOf, type ReceivedBody } from '../../domain/bodies/received-body.ts';
import { lengthPrefixed, type NamedKey } from '../vault/cipher.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const LENGTH_BYTES = 4;
const OPTIONS = { authTagLength: TAG_BYTES } as const;

/** `eventId` is the id of the event that will record it. */
export type SpooledDelivery = Omit<NewDelivery, 'integration'> & {
  readonly integration: Pick<NewDelivery['integration'], 'id' | 'tenant_id'>;
  readonly eventId: string;
};

/** The ids that identify a delivery in the spool. They are all random, or derived with a secret key. */
export type SpoolIdentity = {
  readonly tenant: string;
  readonly integration: string;
  readonly delivery: string;
  readonly eventId: string;
};

/** `at` is the time of receipt in Unix milliseconds; `facts` is JSON. */
export type SpoolEntry = SpoolIdentity & { readonly at: number; readonly facts: string; readonly body: ReceivedBody };

/** `content` is encrypted with the key `kid`. */
export type SealedEntry = SpoolIdentity & { readonly at: number; readonly kid: string; readonly content: Uint8Array };

type Facts = Omit<SpooledDelivery, 'integration' | 'id' | 'eventId' | 'body'>;

export const entryOf = (delivery: SpooledDelivery): SpoolEntry => {
  const { integration, id, eventId, body, type, facts, ip, user_agent, isReplayUnchecked, unevaluated } = delivery;
  const stored: Facts = {
    type,
    facts,
    ip,
    user_agent,
    ...(isReplayUnchecked && { isReplayUnchecked }),
    ...(unevaluated && { unevaluated }),
  };
  return {
    tenant: integration.tenant_id,
    integration: integration.id,
    delivery: id,
    eventId,
    at: Date.parse(facts.received_at),
    facts: JSON.stringify(stored),
    body,
  };
};

/** The inverse of `entryOf`. */
export const deliveryOf = ({ tenant, integration, delivery, eventId, facts, body }: Omit<SpoolEntry, 'at'>): SpooledDelivery => ({
  ...(JSON.parse(facts) as Facts),
  integration: { id: integration, tenant_id: tenant },
  id: delivery,
  eventId,
  body,
});

/** Authenticated together with the content, which therefore cannot be moved to another row. */
const associatedData = ({ tenant, integration, delivery, eventId }: SpoolIdentity): Buffer =>
  lengthPrefixed('annals spool', tenant, integration, delivery, eventId);

/** The content consists of a nonce, the ciphertext and an authentication tag. */
export const sealEntry = ({ kid, key }: NamedKey, entry: SpoolEntry): SealedEntry => {
  const { facts, body, ...rest } = entry;
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, OPTIONS).setAAD(associatedData(entry));
  const text = Buffer.from(facts);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(text.length);
  const parts = [length, text, ...chunksOf(body)].map((part) => cipher.update(part));
  return { ...rest, kid, content: Buffer.concat([nonce, ...parts, cipher.final(), cipher.getAuthTag()]) };
};

/** @throws Error if the row was encrypted with none of these keys, or was changed */
export const openEntry = (keys: readonly NamedKey[], sealed: SealedEntry): SpoolEntry => {
  const { kid, content, ...rest } = sealed;
  const key = keys.find((named) => named.kid === kid)?.key;
  if (!key) throw new Error(`it was sealed with the key ${kid}, which this platform does not know: set MASTER_KEY_FILE`);
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), OPTIONS)
    .setAAD(associatedData(sealed))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  const plain = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  const bodyAt = LENGTH_BYTES + plain.readUInt32BE(0);
  // Copy the body for the transfer to another thread: a small buffer may share its memory with others.
  return { ...rest, facts: plain.toString('utf8', LENGTH_BYTES, bodyAt), body: new Uint8Array(plain.subarray(bodyAt)) };
};
