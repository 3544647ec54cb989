type Gate = { leaving: Promise<unknown>; readonly running: Set<Promise<void>> };

const gates = new Map<string, Gate>();

const entered = <T>(tenant: string, begin: (gate: Gate) => Promise<T>): Promise<T> => {
  const gate = gates.get(tenant) ?? { leaving: Promise.resolve(), running: new Set() };
  gates.set(tenant, gate);
  const mine = begin(gate);
  const over = mine.then(
    () => {},
    () => {},
  );
  gate.running.add(over);
  void over.then(() => {
    gate.running.delete(over);
    if (gate.running.size === 0) gates.delete(tenant);
  });
  return mine;
};

/**
 * Runs what rests on who is a member of the tenant: beside others of its kind, never beside a removal, so that no agent is left without an
 * OWNER. Members and agents are streams apart, and this holds within a process.
 */
export const whileMembersStay = <T>(tenant: string, work: () => Promise<T>): Promise<T> =>
  entered(tenant, ({ leaving }) => leaving.then(work));

/** Runs a removal: after what rests on the members and was begun before it, and nothing of that kind begins until it is over. */
export const whileMembersLeave = <T>(tenant: string, work: () => Promise<T>): Promise<T> =>
  entered(tenant, (gate) => {
    const mine = Promise.all(gate.running).then(work);
    gate.leaving = mine.catch(() => {});
    return mine;
  });
