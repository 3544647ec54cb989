import type { ReactorCtx, SealedText, SecretLocation } from '../../commands/context.ts';
import { identitySecret } from '../../commands/credentials/linked-identity.ts';
import { secretLocation } from '../../commands/integrations/integration.ts';
import { headersLocation } from '../../commands/schedule/secret-headers.ts';
import { skillConfigLocation } from '../../commands/skills/skill-config.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { jsonEqual } from '../../domain/aggregate.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { type Actor, PLATFORM, parseStream, streamName } from '../../domain/event.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import { resealHeaders } from '../../domain/schedule/job-headers.ts';
import { resealConfig } from '../../domain/skills/agent-skills.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
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
type Resealing = Pick<ReactorCtx, 'tenant' | 'load' | 'transact'> & {
  readonly log: Log;
  /** Encrypts with the newest key. Returns the text unchanged if that key has encrypted it, or if it cannot be decrypted. */
  readonly reseal: (location: SecretLocation, sealed: SealedText) => Promise<SealedText>;
};

const resealIntegration = async ({ tenant, load, reseal, transact }: Resealing, id: string): Promise<void> => {
  const { status, tenant_id, sealed_secret, sealed_previous_secret } = (await load(Integration, id)).state;
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
  const { sealed } = (await load(LinkedIdentity, id)).state;
  if (sealed === null) return;
  const resealed = await reseal(identitySecret(tenant, id), sealed);
  if (resealed !== sealed) await transact(LinkedIdentity, id, LinkedIdentity.resealIdentity(sealed, resealed));
};

const resealAgent = async ({ tenant, log, load, reseal, transact }: Resealing, id: string): Promise<void> => {
  for (const [skill_id, { config }] of Object.entries((await load(Agent, id)).state.skills)) {
    if (!config) continue;
    const { revision } = config;
    // The state of an agent does not contain the configurations of skills, so read its events.
    const [event] = await Array.fromAsync(log.read(streamName(Agent.category, tenant, id), { from: revision, limit: 1 }));
    const { sealed_config: sealed } = event!.data as { sealed_config: SealedText };
    const resealed = await reseal(skillConfigLocation({ tenant }, id, skill_id), sealed);
    if (resealed !== sealed) await transact(Agent, id, resealConfig(skill_id, resealed, revision));
  }
};

const resealCronJob = async ({ tenant, load, reseal, transact }: Resealing, id: string): Promise<void> => {
  const { sealed_headers: sealed } = (await load(CronJob, id)).state;
  if (sealed === null) return;
  const resealed = await reseal(headersLocation(tenant, id), sealed);
  if (resealed !== sealed) await transact(CronJob, id, resealHeaders(sealed, resealed));
};

const resealAuditKeys = async ({ load, reseal, transact }: Resealing, id: string): Promise<void> => {
  for (const { key_id, sealed_private_key: sealed } of (await load(AuditKey, id)).state.keys) {
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

/** The streams of integrations belong to the platform. */
const patternOf = (tenant: string): string =>
  tenant === PLATFORM
    ? `^${AuditKey.category}-${PLATFORM}\\.`
    : `^(?:${[Agent, CronJob, LinkedIdentity].map(({ category }) => category).join('|')})-${tenant}\\.|^${Integration.category}-${PLATFORM}\\.`;

/**
 * Encrypts credentials again that are not encrypted with `kid`, the tenant's newest data key. A credential that a request replaces
 * meanwhile is encrypted with it anyway. Returns the number of credentials.
 * @throws LogError, Refusal unavailable
 */
export const resealSecrets = async (parts: ResealSecretsParts, tenant: string, kid: string): Promise<number> => {
  const { log, vault, actor, onSecret, onProgress } = parts;
  const { load, transact } = reactorContext(log, { actor, seed: (at) => `${kid} ${at}` }).inTenant(tenant);
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

  for (const stream of await findStreams(log, { streamPattern: patternOf(tenant) }, ({ meta }) => meta.tenant === tenant)) {
    const { category, id } = parseStream(stream)!;
    await RESEAL[category]!({ tenant, log, load, reseal, transact }, id);
  }
  return count;
};
