import { createDeliveryStates, type QueueCtx } from '../../api/deliveries/delivery-states.ts';
import { type HeldSources, type HeldTotal, type HeldTotals, heldOfAllTenants } from '../../api/deliveries/held-deliveries.ts';
import { futureUntil } from '../../api/deliveries/held-words.ts';
import type { RunnerBroker } from '../../commands/runners/runner-broker.ts';
import { counted } from '../../domain/counted.ts';
import { HELD_KINDS, type HeldKind } from '../../domain/deliveries/held-kind.ts';
import { openQueuesOfAllTenants } from '../../projections/deliveries/open-deliveries.queries.ts';
import { ok, type Result, reasonOf, warn } from './finding.ts';

/** `contextOf` is for reading the budgets of a tenant's agents. */
export type HeldParts = {
  readonly reads: QueueCtx['reads'];
  readonly broker: RunnerBroker;
  readonly contextOf: (tenant: string) => Omit<QueueCtx, 'reads'>;
};

/** Creates the function that counts the held deliveries of all tenants. `readQueues` reads the queues of all tenants. */
export const createHeldReader = (
  { reads, broker, contextOf }: HeldParts,
  readQueues: HeldSources['readQueues'] = () => openQueuesOfAllTenants(reads),
): (() => Promise<HeldTotals>) => {
  const states = createDeliveryStates(broker);
  return () => heldOfAllTenants({ reads, contextOf: (tenant) => ({ ...contextOf(tenant), reads }), readQueues, states });
};

const CAUSES: Readonly<Record<HeldKind, string>> = {
  budget: 'because the hourly budget of the agent is used up',
  rate: 'because of rates',
  hours: 'outside of working hours',
};

const BUDGETS_ADVICE = 'repair the event store: what budgets hold is read from it';

export const knownTotals = (totals: HeldTotals): readonly (HeldTotal & { readonly kind: HeldKind })[] =>
  HELD_KINDS.flatMap((kind) => {
    const total = totals[kind];
    return total instanceof Error ? [] : [{ kind, ...total }];
  });

/** This is not a fault: held deliveries continue by themselves. While budgets cannot be read, has only what rules hold. */
export const heldResult = (totals: HeldTotals): Result => {
  const known = knownTotals(totals);
  const figures = Object.fromEntries(known.map(({ kind, count }) => [`held_by_${kind}`, count]));
  const found = known.filter(({ count }) => count > 0);
  const sum = found.reduce((total, { count }) => total + count, 0);
  const parts = found.map(({ kind, count, until }) => {
    const future = futureUntil(until);
    return `${count} ${CAUSES[kind]}${future === null ? '' : ` until ${future}`}`;
  });
  const message = sum === 0 ? 'none' : `${counted(sum, 'delivery')} ${sum === 1 ? 'is' : 'are'} held: ${parts.join('; ')}`;
  if (!(totals.budget instanceof Error)) return { ...ok(message), figures };
  return { ...warn(`by rules: ${message}; by budgets: not known (${reasonOf(totals.budget)})`, BUDGETS_ADVICE), figures };
};
