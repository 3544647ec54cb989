import * as assert from 'uvu/assert';
import { type Aggregate, type Decision, fold } from '../domain/aggregate.ts';
import { type DomainEvent, type Recorded, streamName } from '../domain/event.ts';
import { Refusal, type RefusalCode } from '../domain/refusal.ts';

export const TENANT = 'ctenant000000000000000000';
export const ACTOR = 'cuser00000000000000000000';
export const ID = 'cthing0000000000000000000';

/** The time of the n-th event of a story, in whole seconds. */
export const at = (index: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString();

/** Events as the log would hold them in one stream. */
export const recorded = <E extends DomainEvent>(category: string, events: readonly E[]): Recorded<E>[] =>
  events.map((event, revision) => {
    const actor = { kind: 'user', id: ACTOR } as const;
    return {
      ...event,
      event_id: `00000000-0000-4000-8000-${String(revision).padStart(12, '0')}`,
      stream: streamName(category, TENANT, ID),
      category,
      tenant: TENANT,
      id: ID,
      revision,
      position: { commit: BigInt(revision), prepare: BigInt(revision) },
      at: at(revision),
      actor,
      meta: { tenant: TENANT, actor, at: at(revision), v: 1 },
    };
  });

const refusal = (work: () => unknown): Refusal => {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('it was not refused');
};

/** What happened, what is asked, what follows: the grammar of the decision ring. */
export const given = <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, ...events: NoInfer<E>[]) => {
  const state = fold(aggregate, recorded(aggregate.category, events));
  return {
    state,
    when: (decision: Decision<S, E>) => ({
      emits: (...expected: E[]) => assert.equal(decision(state), expected),
      refuses: (code: RefusalCode, pointer?: string) => {
        const { code: found, extra } = refusal(() => decision(state));
        assert.is(found, code);
        if (pointer !== undefined) assert.is(extra.errors?.[0]?.pointer, pointer);
      },
    }),
  };
};
