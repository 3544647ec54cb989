/** The use of language models by one agent, with one model, for one cause. The cost is in micro-dollars. */
export type UsageRow = UsageTotals & {
  readonly agent_id: string;
  /** Empty if the messages name no model. */
  readonly model_id: string;
  readonly cause_kind: string;
  /** Empty if nothing with an id is the cause. */
  readonly cause_id: string;
};

export type UsageTotals = {
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_micros: number;
};

export const NO_USAGE: UsageTotals = { requests: 0, input_tokens: 0, output_tokens: 0, cost_micros: 0 };

/** Adds up usage. */
export const totalOf = (rows: Iterable<UsageTotals>): UsageTotals => {
  let total = NO_USAGE;
  for (const { requests, input_tokens, output_tokens, cost_micros } of rows)
    total = {
      requests: total.requests + requests,
      input_tokens: total.input_tokens + input_tokens,
      output_tokens: total.output_tokens + output_tokens,
      cost_micros: total.cost_micros + cost_micros,
    };
  return total;
};

/** Adds up the rows that have the same key, in the order of their first row. */
export const totalsBy = (rows: readonly UsageRow[], keyOf: (row: UsageRow) => string): Map<string, UsageTotals> =>
  new Map([...Map.groupBy(rows, keyOf)].map(([key, group]) => [key, totalOf(group)]));

/** The model that cost most, or was used most at the same cost; null if the rows name none. */
export const topModel = (rows: readonly UsageRow[]): string | null => {
  const models = [...totalsBy(rows, ({ model_id }) => model_id)].filter(([model_id]) => model_id !== '');
  const [top] = models.sort(([idA, a], [idB, b]) => b.cost_micros - a.cost_micros || b.requests - a.requests || (idA < idB ? -1 : 1));
  return top?.[0] ?? null;
};
