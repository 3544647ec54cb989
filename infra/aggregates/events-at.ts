import { comparePositions, type Position, type Recorded, tokenOf } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import { withRefusals } from './past-state.ts';

/** Events at most this many bytes apart in the log are read with one request, together with those between them. */
const MAX_DISTANCE = 16_384n;
/** Hardly any event takes fewer bytes in the log. This limits how many events a request reads. */
const SMALL_EVENT_BYTES = 200n;

type Group = readonly [Position, ...Position[]];

const groupsOf = (positions: readonly Position[]): Group[] => {
  const groups: [Position, ...Position[]][] = [];
  for (const position of positions.toSorted(comparePositions)) {
    const group = groups.at(-1);
    if (group && position.commit - group.at(-1)!.commit <= MAX_DISTANCE) group.push(position);
    else groups.push([position]);
  }
  return groups;
};

const limitOf = (group: Group): number => group.length + Number((group.at(-1)!.commit - group[0].commit) / SMALL_EVENT_BYTES);

/** The function returns the events in the order of their positions; null where there is none. @throws Refusal unavailable */
export const eventReader = (log: Pick<Log, 'readAll'>) => {
  const readGroup = async (group: Group, found: Map<string, Recorded>): Promise<void> => {
    const last = group.at(-1)!;
    for await (const event of log.readAll({ from: group[0], limit: limitOf(group) })) {
      found.set(tokenOf(event.position), event);
      if (comparePositions(event.position, last) >= 0) return;
    }
  };

  const readOne = async (position: Position): Promise<Recorded | null> => {
    const [event] = await Array.fromAsync(withRefusals(log.readAll({ from: position, limit: 1 })));
    return event && comparePositions(event.position, position) === 0 ? event : null;
  };

  return async (positions: readonly Position[]): Promise<(Recorded | null)[]> => {
    const found = new Map<string, Recorded>();
    const groups = groupsOf(positions).filter(({ length }) => length > 1);
    // If a group cannot be read, perhaps because of an event between, its events are read one by one.
    await Promise.all(groups.map((group) => readGroup(group, found).catch(() => {})));
    return Promise.all(positions.map((position) => found.get(tokenOf(position)) ?? readOne(position)));
  };
};
