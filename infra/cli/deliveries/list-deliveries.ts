import { isId25 } from '../../../domain/id.ts';
import { createClient, problemIn, type Reply } from '../../client/create-client.ts';
import { printErrorLine, printLine } from '../../logging/print-line.ts';
import { usageError } from '../arguments.ts';
import { heldLine } from './held-line.ts';
import { onlyTenant } from './trigger-integration.ts';

export type ListOptions = { readonly failed: boolean; readonly tenant?: string | undefined; readonly limit: string };

const MAX_LIMIT = 200;

type Listed = Reply<'listTenantDeliveries'>[number];

/** Empty if no attempt is known to have failed. */
const failureOf = ({ last_failure, outcome, status }: Listed, isFailed: boolean): string => {
  if (last_failure === null) return isFailed || outcome === 'dead' ? 'no report' : '';
  if (status === 'done') return '';
  const { attempt, outcome: how, code, reason } = last_failure;
  return `attempt ${attempt} ${how.replace('_', ' ')}${code === null ? '' : ` (${code})`}: ${reason ?? 'the reason cannot be read'}`;
};

const stateOf = ({ outcome, status, held }: Listed): string => {
  if (outcome !== 'accepted') return outcome;
  return held ? `held (${heldLine(held)})` : (status ?? outcome);
};

export const deliveryLine = (delivery: Listed, isFailed: boolean): string => {
  const { id, received_at, provider, event } = delivery;
  const name = [provider ?? 'unverified', event].filter((word) => word !== null).join('.');
  return [received_at, id, name, stateOf(delivery), failureOf(delivery, isFailed)].join('  ').trimEnd();
};

const limitOf = (text: string): number => {
  if (!/^[1-9]\d{0,2}$/.test(text) || Number(text) > MAX_LIMIT) throw usageError(`--limit must be a number from 1 to ${MAX_LIMIT}`);
  return Number(text);
};

/**
 * Prints the newest first. Returns the exit code: 1 after a problem, printed to standard error.
 * @throws a usage error, or an Error of one line if the platform does not answer
 */
export const listDeliveries = async (
  service: { readonly url: string; readonly key: string },
  { failed, tenant, limit: limitText }: ListOptions,
): Promise<number> => {
  const limit = limitOf(limitText);
  if (tenant !== undefined && !isId25(tenant)) throw usageError('--tenant must be a tenant id');
  try {
    const client = createClient(service);
    const tenant_id = tenant ?? (await onlyTenant(client));
    const found = await client.call('listTenantDeliveries', { tenant_id, limit, ...(failed && { failed: 'true' as const }) });
    for (const delivery of found) printLine(deliveryLine(delivery, failed));
    return 0;
  } catch (error) {
    const problem = problemIn(error);
    if (problem === null) throw error;
    printErrorLine(`${problem.status} ${problem.title}: ${problem.detail}`);
    printErrorLine(`  request id: ${problem.request_id}`);
    return 1;
  }
};
