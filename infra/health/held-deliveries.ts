import { createDeliveryStates, type QueueCtx } from '../../api/webhooks/delivery-states.ts';
import { type HeldTotal, heldOfAllTenants } from '../../api/webhooks/held-deliveries.ts';
import type { RunnerBroker } from '../../commands/runners/runner-broker.ts';
import { counted } from '../../domain/counted.ts';
import { HELD_KINDS, type HeldKind } from '../../domain/webhooks/held-kind.ts';
import { ok, type Result } from './finding.ts';

/** How many deliveries of the platform are held, by what holds them. */
export type HeldTotals = Readonly<Record<HeldKind, HeldTotal>>;

/** `contextOf` returns the context in which the budgets of a tenant's agents are read. */
type HeldParts = {
  readonly reads: QueueCtx['reads'];
  readonly broker: RunnerBroker;
  readonly contextOf: (tenant: string) => Omit<QueueCtx, 'reads'>;
};

/** Creates the function that counts the held deliveries of all tenants. */
export const createHeldReader = ({ reads, broker, contextOf }: HeldParts): (() => Promise<HeldTotals>) => {
  const states = createDeliveryStates(broker);
  return () => heldOfAllTenants((tenant) => ({ ...contextOf(tenant), reads }), reads, states);
};

const CAUSES: Readonly<Record<HeldKind, string>> = {
  budget: 'because the hourly budget of the agent is used up',
  rate: 'because of rates',
  hours: 'outside of working hours',
};

/** Returns the finding about held deliveries. They are no fault: they go on by themselves. */
export const heldResult = (totals: HeldTotals): Result => {
  const found = HELD_KINDS.filter((kind) => totals[kind].count > 0);
  const figures = Object.fromEntries(HELD_KINDS.map((kind) => [`held_by_${kind}`, totals[kind].count]));
  if (found.length === 0) return { ...ok('none'), figures };
  const sum = found.reduce((total, kind) => total + totals[kind].count, 0);
  const parts = found.map((kind) => {
    const { count, until } = totals[kind];
    return `${count} ${CAUSES[kind]}${until === null ? '' : ` until ${until}`}`;
  });
  return { ...ok(`${counted(sum, 'delivery')} ${sum === 1 ? 'is' : 'are'} held: ${parts.join('; ')}`), figures };
};
