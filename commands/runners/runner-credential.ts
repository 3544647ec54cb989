import * as ApiKey from '../../domain/identity/api-key.ts';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import * as RunnerCredential from '../../domain/runners/runner-credential.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Loaded } from '../context.ts';

/**
 * A user of the broker, with the JWT and the private seed that it needs to connect. Until it expires, it can read the
 * messages to one agent. `url` is the URL of the broker.
 */
export type BrokerUser = { readonly url: string; readonly jwt: string; readonly seed: string; readonly public_key: string };

/**
 * Creates a broker user. If the agent has no JetStream consumer yet, creates that, too.
 * @throws Refusal not_configured if the platform cannot create broker users, unavailable if the broker is down
 */
export type CreateBrokerUser = (request: { tenant: string; agent: string; credential: string; expires_at: string }) => Promise<BrokerUser>;

type AgentPath = { readonly tenant_id: string; readonly agent_id: string };

export type IssuedCredential = RunnerCredential.RunnerCredential &
  BrokerUser & { readonly inbox_prefix: string; readonly renew_at: string };

/**
 * Returns the user on whose rights the credential depends, and when the credential expires: after one hour or, if it is
 * requested with a runner key that expires earlier, together with this key.
 */
const ownerAndExpiry = async (ctx: Ctx): Promise<{ owner_id: string | null; expires_at: string }> => {
  const { principal } = ctx;
  const inAnHour = new Date(Date.parse(ctx.at()) + RunnerCredential.MAX_LIFETIME_SECONDS * 1_000).toISOString();
  if (principal.kind !== 'runner') return { owner_id: principal.kind === 'user' ? principal.user_id : null, expires_at: inAnHour };
  const { owner_id, expires_at } = (await ctx.load(ApiKey, principal.key_id)).state;
  return { owner_id, expires_at: expires_at !== null && expires_at < inAnHour ? expires_at : inAnHour };
};

/**
 * Issues a credential that is valid for at most one hour. The response is the only place that contains its private
 * seed, because the seed is not stored.
 * @throws Refusal not_found, not_configured, unavailable
 */
export const issueRunnerCredential =
  (createBrokerUser: CreateBrokerUser) =>
  async (ctx: Ctx, { agent_id }: AgentPath): Promise<Loaded<IssuedCredential>> => {
    await loadAgent(ctx, agent_id);
    const { owner_id, expires_at } = await ownerAndExpiry(ctx);
    const id = ctx.newId();
    const user = await createBrokerUser({ tenant: ctx.tenant, agent: agent_id, credential: id, expires_at });
    const issued = await ctx.transact(
      RunnerCredential,
      id,
      RunnerCredential.issue({
        agent_id,
        owner_id,
        public_key: user.public_key,
        subject: inboundSubject(ctx.tenant, agent_id),
        stream: RunnerCredential.STREAM,
        consumer: RunnerCredential.consumerName(agent_id),
        expires_at,
      }),
      { expectNew: true },
    );
    const renew_at = RunnerCredential.renewTime(issued.state.created_at, expires_at);
    return { ...issued, state: { ...issued.state, ...user, inbox_prefix: RunnerCredential.inboxOf(id), renew_at } };
  };

export const revokeRunnerCredential = (ctx: Ctx, { id, agent_id }: AgentPath & { readonly id: string }) =>
  ctx.transact(RunnerCredential, id, RunnerCredential.revoke(agent_id));
