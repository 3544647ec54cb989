import { test } from 'uvu';
import * as FailoverGraph from '../../domain/agents/failover-graph.ts';
import { given } from '../fixtures/given.ts';

const { checkChain } = FailoverGraph;
const checked = (model_id: string, ...failover_chain: string[]): FailoverGraph.FailoverEvent => ({
  type: 'FailoverChainChecked',
  data: { model_id, failover_chain },
});

test('a failover chain without a cycle is recorded, and checking the same chain again emits no event', () => {
  given(FailoverGraph)
    .when(checkChain('a', ['b', 'c'], { b: ['c'], c: [] }))
    .emits(checked('a', 'b', 'c'));
  given(FailoverGraph, checked('a', 'b'))
    .when(checkChain('a', ['b'], { b: [] }))
    .emits();
});

test('a failover chain that would close a cycle is refused, even if only the failover graph knows the cycle', () => {
  given(FailoverGraph)
    .when(checkChain('a', ['x', 'b'], { x: [], b: ['c'], c: ['a'] }))
    .refuses('invalid', '/failover_chain/1');
  given(FailoverGraph)
    .when(checkChain('a', ['a'], {}))
    .refuses('invalid', '/failover_chain/0');
  given(FailoverGraph, checked('b', 'a'))
    .when(checkChain('a', ['b'], { b: [] }))
    .refuses('invalid', '/failover_chain/0');
  given(FailoverGraph, checked('b', 'a'), checked('b'))
    .when(checkChain('a', ['b'], { b: [] }))
    .emits(checked('a', 'b'));
});

test('checking a failover chain does not run forever, even if other models already form a cycle', () =>
  given(FailoverGraph)
    .when(checkChain('a', ['b'], { b: ['c'], c: ['b'] }))
    .emits(checked('a', 'b')));

test.run();
