/** Usage by agent, model and cause (what started the session, such as an integration). The cost is in micro-dollars. */
export type UsageRow = UsageTotals & {
  readonly agent_id: string;
  /** Empty if the messages of this usage name no model. */
  readonly model_id: string;
  readonly cause_kind: string;
  /** Empty if the cause has no id. */
  readonly cause_id: string;
};

export type UsageTotals = {
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_micros: number;
};

export const NO_USAGE: UsageTotals = { requests: 0, input_tokens: 0, output_tokens: 0, cost_micros: 0 };

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

/** The keys have the order in which they first occur in `rows`. */
export const totalsBy = (rows: readonly UsageRow[], keyOf: (row: UsageRow) => string): Map<string, UsageTotals> =>
  new Map([...Map.groupBy(rows, keyOf)].map(([key, group]) => [key, totalOf(group)]));

/** The model with the highest cost, then with the most requests. Null if no row names a model. */
export const topModel = (rows: readonly UsageRow[]): string | null => {
  const models = [...totalsBy(rows, ({ model_id }) => model_id)].filter(([model_id]) => model_id !== '');
  const [top] = models.sort(([idA, a], [idB, b]) => b.cost_micros - a.cost_micros || b.requests - a.requests || (idA < idB ? -1 : 1));
  return top?.[0] ?? null;
};
