const DAY_MS = 86_400_000;

export const dayAgo = (): string => new Date(Date.now() - DAY_MS).toISOString();

/** Returns the filters for the deliveries that were given up in the last 24 hours, whenever they were received. */
export const givenUpInLastDay = (): { readonly outcome: 'dead'; readonly given_up_from: string } => ({
  outcome: 'dead',
  given_up_from: dayAgo(),
});
