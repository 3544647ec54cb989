import { jsonEqual } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { type ById, type Transient, withEntry } from '../immutable-record.ts';
import { invalid } from '../refusal.ts';

/**
 * The failover chains of all models, in one stream. A model is in a stream of its own, so two models could get chains
 * that lead to each other at the same time. Each change of a chain is therefore first appended here: of two such
 * changes, the second one sees the first.
 */
export const category = 'failover';
export const platform = true;

export type FailoverEvent = { type: 'FailoverChainChecked'; data: { model_id: string; failover_chain: readonly string[] } };
export type FailoverGraph = { readonly chains: ById<readonly string[]> };

export const initial: FailoverGraph = { chains: {} };

export const evolve = ({ chains }: FailoverGraph, { data }: Recorded<FailoverEvent>, transient?: Transient): FailoverGraph => ({
  chains: withEntry(chains, data.model_id, data.failover_chain, transient),
});

/**
 * Returns the models to which a model's failover chain leads directly: by its own stream (`models`) or by this graph.
 * The graph can be ahead, or have a change that was never completed; then both count.
 */
export const nextOf = ({ chains }: FailoverGraph, models: ById<readonly string[]>, id: string): readonly string[] => [
  ...new Set([...(models[id] ?? []), ...(chains[id] ?? [])]),
];

/** Returns the models that `next` reaches from these, including them. */
const reachable = (from: string, next: (id: string) => readonly string[]): Set<string> => {
  const found = new Set([from]);
  for (const id of found) for (const each of next(id)) found.add(each);
  return found;
};

/**
 * Checks a new failover chain of a model. `models` has the chains of all models that it can reach.
 * @throws Refusal invalid if the chain leads back to the model
 */
export const checkChain =
  (model_id: string, failover_chain: readonly string[], models: ById<readonly string[]>) =>
  (graph: FailoverGraph): FailoverEvent[] => {
    for (const [index, first] of failover_chain.entries())
      if (reachable(first, (id) => (id === model_id ? [] : nextOf(graph, models, id))).has(model_id))
        throw invalid(`/failover_chain/${index}`, 'leads back to this model', 'cycle');
    if (jsonEqual(graph.chains[model_id], failover_chain)) return [];
    return [{ type: 'FailoverChainChecked', data: { model_id, failover_chain } }];
  };
