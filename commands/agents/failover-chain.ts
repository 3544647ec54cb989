import * as FailoverGraph from '../../domain/agents/failover-graph.ts';
import * as Model from '../../domain/agents/model.ts';
import { jsonEqual } from '../../domain/aggregate.ts';
import { invalid } from '../../domain/refusal.ts';
import type { Ctx } from '../context.ts';

const graphIdOf = (ctx: Ctx): string => ctx.secrets.uniqueId('failover', 'all', 0, 'platform');

/** @throws Refusal invalid if a model does not exist or occurs twice */
export const assertModelsExist = async (ctx: Ctx, chain: readonly string[]): Promise<void> => {
  if (new Set(chain).size !== chain.length) throw invalid('/failover_chain', 'must not contain the same model twice', 'duplicate');
  const models = await Promise.all(chain.map((id) => ctx.load(Model, id)));
  const unknown = models.findIndex(({ state }) => state.status === 'absent');
  if (unknown >= 0) throw invalid(`/failover_chain/${unknown}`, 'there is no such model', 'unknown_model');
};

/** Returns the failover chains of all models that can be reached, by the models' own streams and by the graph. */
const chainsFrom = async (
  ctx: Ctx,
  ids: readonly string[],
  graph: FailoverGraph.FailoverGraph,
): Promise<Record<string, readonly string[]>> => {
  const chains: Record<string, readonly string[]> = {};
  for (let next = [...ids]; next.length > 0; ) {
    const models = await Promise.all(next.map((id) => ctx.load(Model, id)));
    for (const { id, state } of models) chains[id] = state.failover_chain;
    next = [...new Set(next.flatMap((id) => FailoverGraph.nextOf(graph, chains, id)))].filter((id) => !chains[id]);
  }
  return chains;
};

/** The graph has changed since the chains were read: a model can then be reached whose chain was not read. */
class GraphChanged extends Error {}

/** Records the chain in the graph, so that concurrent changes are checked, too. @throws Refusal invalid if it leads back to the model */
export const recordChain = async (ctx: Ctx, model_id: string, chain: readonly string[]): Promise<void> => {
  const id = graphIdOf(ctx);
  for (;;) {
    const { state: seen } = await ctx.load(FailoverGraph, id);
    const chains = await chainsFrom(ctx, chain, seen);
    const decide = (graph: FailoverGraph.FailoverGraph) => {
      if (!jsonEqual(graph.chains, seen.chains)) throw new GraphChanged();
      return FailoverGraph.checkChain(model_id, chain, chains)(graph);
    };
    try {
      await ctx.transact(FailoverGraph, id, decide, { ignoreExpectedRevision: true });
      return;
    } catch (error) {
      if (!(error instanceof GraphChanged)) throw error;
    }
  }
};
