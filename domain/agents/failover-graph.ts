import { jsonEqual } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { type ById, type Transient, withEntry } from '../immutable-record.ts';
import { invalid } from '../refusal.ts';

/**
 * The failover chains of all models, in one stream: each change of a chain is appended here first, so that two changes at the same time,
 * in the streams of two models, cannot close a cycle.
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
 * Returns the next models by the model's own stream (`models`) and by this graph: a change is recorded here first, and may fail before it
 * is recorded there.
 */
export const nextOf = ({ chains }: FailoverGraph, models: ById<readonly string[]>, id: string): readonly string[] => [
  ...new Set([...(models[id] ?? []), ...(chains[id] ?? [])]),
];

/** The result includes `from`. */
const reachable = (from: string, next: (id: string) => readonly string[]): Set<string> => {
  const found = new Set([from]);
  for (const id of found) for (const each of next(id)) found.add(each);
  return found;
};

/** `models` maps each model that the chain reaches to its chain. @throws Refusal invalid if a cycle would lead back to the model */
export const checkChain =
  (model_id: string, failover_chain: readonly string[], models: ById<readonly string[]>) =>
  (graph: FailoverGraph): FailoverEvent[] => {
    for (const [index, first] of failover_chain.entries())
      if (reachable(first, (id) => (id === model_id ? [] : nextOf(graph, models, id))).has(model_id))
        throw invalid(`/failover_chain/${index}`, 'leads back to this model', 'cycle');
    if (jsonEqual(graph.chains[model_id], failover_chain)) return [];
    return [{ type: 'FailoverChainChecked', data: { model_id, failover_chain } }];
  };
