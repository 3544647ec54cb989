import * as ApiKey from '../../domain/identity/api-key.ts';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import * as RunnerCredential from '../../domain/runners/runner-credential.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Loaded } from '../context.ts';

/** Connects with `jwt` and the private `seed`; until it expires, reads the messages to one agent. `url`: of the broker. */
export type BrokerUser = { readonly url: string; readonly jwt: string; readonly seed: string; readonly public_key: string };

/** Also creates the agent's JetStream consumer. @throws Refusal not_configured if no broker users can be created, unavailable */
export type CreateBrokerUser = (request: { tenant: string; agent: string; credential: string; expires_at: string }) => Promise<BrokerUser>;

type AgentPath = { readonly tenant_id: string; readonly agent_id: string };

export type IssuedCredential = RunnerCredential.RunnerCredential &
  BrokerUser & { readonly inbox_prefix: string; readonly renew_at: string };

/** The credential depends on the owner's rights. It expires after one hour, or with the requesting runner key if earlier. */
const ownerAndExpiry = async (ctx: Ctx): Promise<{ owner_id: string | null; expires_at: string }> => {
  const { principal } = ctx;
  const inAnHour = new Date(Date.parse(ctx.at()) + RunnerCredential.MAX_LIFETIME_SECONDS * 1_000).toISOString();
  if (principal.kind !== 'runner') return { owner_id: principal.kind === 'user' ? principal.user_id : null, expires_at: inAnHour };
  const { owner_id, expires_at } = (await ctx.load(ApiKey, principal.key_id)).state;
  return { owner_id, expires_at: expires_at !== null && expires_at < inAnHour ? expires_at : inAnHour };
};

/** Valid for at most one hour. Only the response contains the private seed. @throws Refusal not_found, not_configured, unavailable */
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
