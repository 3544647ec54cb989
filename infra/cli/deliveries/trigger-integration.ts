import { whyWords } from '../../../api/deliveries/held-words.ts';
import { problemLines } from '../../../domain/refusal.ts';
import { type Client, createClient, problemIn, type Reply } from '../../client/create-client.ts';
import { printErrorLine, printLine } from '../../logging/print-line.ts';
import { usageError } from '../arguments.ts';
import { heldLine } from './held-line.ts';
import { checkedSample } from './trigger-delivery.ts';

export type IntegrationTrigger = {
  readonly provider: string;
  readonly event?: string | undefined;
  readonly integration: string;
  readonly tenant?: string | undefined;
};

/** @throws a usage error if the key's user has several tenants or none */
export const onlyTenant = async (client: Client): Promise<string> => {
  const { tenants } = await client.call('readMe');
  if (tenants.length === 1) return tenants[0]!.id;
  throw usageError('Name the tenant with --tenant');
};

type Sent = { readonly tenant_id: string; readonly delivery: Reply<'sendTestDelivery'> };

const blockedLine = async (client: Client, { tenant_id, delivery: { id, reason } }: Sent): Promise<string> => {
  const found = await client.ask('getDelivery', { tenant_id, delivery_id: id });
  const verdict = found.ok ? found.value.guardrails.findLast((one) => one.verdict === 'block') : undefined;
  const { rule, note } = verdict ?? { rule: null, note: null };
  return `blocked ${id}: ${whyWords({ reason: reason ?? 'unknown', rule, note })}`;
};

/** Says what has become of a test delivery, and why if it does not reach its agent now. */
const outcomeLine = async (client: Client, sent: Sent): Promise<string> => {
  const { tenant_id, delivery } = sent;
  const { id, outcome, agent_id } = delivery;
  if (outcome === 'blocked') return blockedLine(client, sent);
  if (delivery.held) return `held ${id}: ${heldLine(delivery.held)}`;
  // Whether a budget holds it is known only after it was published. The key may be unable to read the agent.
  const runner = outcome === 'accepted' ? await client.ask('getRunnerPresence', { tenant_id, agent_id }) : null;
  return runner?.ok && runner.value.held ? `held ${id}: ${heldLine(runner.value.held)}` : `${outcome} ${id}`;
};

const testDelivery = async (client: Client, { provider, event, integration: id, tenant }: IntegrationTrigger): Promise<string> => {
  const tenant_id = tenant ?? (await onlyTenant(client));
  const found = await client.call('getWebhookIntegration', { tenant_id, id });
  if (found.provider !== provider) throw usageError(`The integration ${id} is one of ${found.provider}, not of ${provider}`);
  const delivery = await client.call('sendTestDelivery', { tenant_id, id, ...(event === undefined ? {} : { event }) });
  return outcomeLine(client, { tenant_id, delivery });
};

/**
 * The platform signs the sample. Returns the exit code: 1 after a problem, printed to standard error.
 * @throws a usage error, or an Error of one line if the platform does not answer
 */
export const triggerIntegration = async (
  service: { readonly url: string; readonly key: string },
  options: IntegrationTrigger,
): Promise<number> => {
  checkedSample(options.provider, options.event);
  try {
    printLine(await testDelivery(createClient(service), options));
    return 0;
  } catch (error) {
    const problem = problemIn(error);
    if (problem === null) throw error;
    const [told, ...faults] = problemLines(problem.detail, problem.errors);
    printErrorLine(`${problem.status} ${problem.title}: ${told}`);
    for (const fault of faults) printErrorLine(`  ${fault}`);
    printErrorLine(`  request id: ${problem.request_id}`);
    return 1;
  }
};
