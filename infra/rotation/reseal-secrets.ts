import type { SealedText, SecretLocation } from '../../commands/context.ts';
import { identitySecret } from '../../commands/credentials/linked-identity.ts';
import { headersLocation } from '../../commands/schedule/secret-headers.ts';
import { skillConfigLocation } from '../../commands/skills/skill-config.ts';
import { secretLocation } from '../../commands/webhooks/integration.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { type Aggregate, type Decision, jsonEqual } from '../../domain/aggregate.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { type Actor, type DomainEvent, PLATFORM, parseStream, streamName } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import { resealHeaders } from '../../domain/schedule/job-headers.ts';
import { resealConfig } from '../../domain/skills/agent-skills.ts';
import * as Integration from '../../domain/webhooks/integration.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import { privateKeyLocation } from '../audit/signing-key.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import { kidOf } from '../vault/cipher.ts';
import type { Vault } from '../vault/vault.ts';
import { findStreams } from './find-streams.ts';

export type ResealSecretsParts = {
  readonly log: Log;
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly actor: Actor;
  /** Called before each secret that is encrypted again. */
  readonly onSecret: () => void | Promise<void>;
  readonly onProgress: (line: string) => void;
};

/** The parts that are needed to encrypt the secrets of one stream again. */
type Resealing = {
  readonly tenant: string;
  readonly log: Log;
  readonly load: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, id: string) => Promise<S>;
  /**
   * Returns the text, encrypted with the newest key. If the text is already encrypted with this key, or cannot be
   * decrypted, returns it unchanged.
   */
  readonly reseal: (location: SecretLocation, sealed: SealedText) => Promise<SealedText>;
  readonly transact: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, id: string, decide: Decision<S, E>) => Promise<void>;
};

const resealIntegration = async ({ tenant, load, reseal, transact }: Resealing, id: string): Promise<void> => {
  const { status, tenant_id, sealed_secret, sealed_previous_secret } = await load(Integration, id);
  if (status !== 'connected' || tenant_id !== tenant) return;
  const location = secretLocation(tenant, id);
  const resealed = {
    sealed_secret: await reseal(location, sealed_secret),
    sealed_previous_secret: sealed_previous_secret && (await reseal(location, sealed_previous_secret)),
  };
  const sealed = { sealed_secret, sealed_previous_secret };
  if (!jsonEqual(sealed, resealed)) await transact(Integration, id, Integration.resealSecret(sealed, resealed));
};

const resealIdentity = async ({ tenant, load, reseal, transact }: Resealing, id: string): Promise<void> => {
  const { sealed } = await load(LinkedIdentity, id);
  if (sealed === null) return;
  const resealed = await reseal(identitySecret(tenant, id), sealed);
  if (resealed !== sealed) await transact(LinkedIdentity, id, LinkedIdentity.resealIdentity(sealed, resealed));
};

const resealAgent = async ({ tenant, log, load, reseal, transact }: Resealing, id: string): Promise<void> => {
  for (const [skill_id, { config }] of Object.entries((await load(Agent, id)).skills)) {
    if (!config) continue;
    const { revision } = config;
    // The configurations of skills are read from the agent's events, because the state of an agent does not contain
    // them.
    const [event] = await Array.fromAsync(log.read(streamName(Agent.category, tenant, id), { from: revision, limit: 1 }));
    const { sealed_config: sealed } = event!.data as { sealed_config: SealedText };
    const resealed = await reseal(skillConfigLocation({ tenant }, id, skill_id), sealed);
    if (resealed !== sealed) await transact(Agent, id, resealConfig(skill_id, resealed, revision));
  }
};

const resealCronJob = async ({ tenant, load, reseal, transact }: Resealing, id: string): Promise<void> => {
  const { sealed_headers: sealed } = await load(CronJob, id);
  if (sealed === null) return;
  const resealed = await reseal(headersLocation(tenant, id), sealed);
  if (resealed !== sealed) await transact(CronJob, id, resealHeaders(sealed, resealed));
};

const resealAuditKeys = async ({ load, reseal, transact }: Resealing, id: string): Promise<void> => {
  for (const { key_id, sealed_private_key: sealed } of (await load(AuditKey, id)).keys) {
    const resealed = await reseal(privateKeyLocation(key_id), sealed);
    if (resealed !== sealed) await transact(AuditKey, id, AuditKey.resealKey(key_id, sealed, resealed));
  }
};

/** Maps the category of a stream to the function that encrypts the secrets of such a stream again. */
const RESEAL: Readonly<Record<string, (resealing: Resealing, id: string) => Promise<void>>> = {
  [Integration.category]: resealIntegration,
  [LinkedIdentity.category]: resealIdentity,
  [Agent.category]: resealAgent,
  [CronJob.category]: resealCronJob,
  [AuditKey.category]: resealAuditKeys,
};

/**
 * Returns a pattern for the names of the streams that can contain secrets of a tenant. The streams of integrations
 * belong to the platform.
 */
const patternOf = (tenant: string): string =>
  tenant === PLATFORM
    ? `^${AuditKey.category}-${PLATFORM}\\.`
    : `^(?:${[Agent, CronJob, LinkedIdentity].map(({ category }) => category).join('|')})-${tenant}\\.|^${Integration.category}-${PLATFORM}\\.`;

/**
 * Encrypts those present credentials of a tenant again that are not encrypted with its newest data key, whose id is
 * `kid`. If a request replaces a credential in the meantime, the new credential is not changed, because it is already
 * encrypted with this key.
 * @returns the number of credentials that were encrypted again
 * @throws LogError
 * @throws Refusal unavailable
 */
export const resealSecrets = async (parts: ResealSecretsParts, tenant: string, kid: string): Promise<number> => {
  const { log, vault, actor, onSecret, onProgress } = parts;
  const cache = openAggregateCache(log, []);
  const append = createTransact(log, cache);
  const ownerOf = ({ platform }: { readonly platform?: boolean }): string => (platform ? PLATFORM : tenant);
  let count = 0;

  const reseal: Resealing['reseal'] = async (location, sealed) => {
    if (kidOf(sealed) === kid) return sealed;
    try {
      const plain = await vault.open(location, sealed);
      await onSecret();
      count += 1;
      return await vault.seal(location, plain);
    } catch (error) {
      if (error instanceof LogError || error instanceof Refusal) throw error;
      onProgress(`left as it is: the field ${location.field} of the ${location.category} ${location.id} is damaged`);
      return sealed;
    }
  };

  const transact: Resealing['transact'] = async (aggregate, id, decide) => {
    const at = new Date().toISOString();
    const meta = { tenant, actor, at, v: 1 };
    await append({ aggregate, tenant: ownerOf(aggregate), id, decide, meta, seed: `${kid} ${at}` });
  };

  const load: Resealing['load'] = async (aggregate, id) => (await cache.load(aggregate, ownerOf(aggregate), id)).state;
  for (const stream of await findStreams(log, { streamPattern: patternOf(tenant) }, ({ meta }) => meta.tenant === tenant)) {
    const { category, id } = parseStream(stream)!;
    await RESEAL[category]!({ tenant, log, load, reseal, transact }, id);
  }
  return count;
};
