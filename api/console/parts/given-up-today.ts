const DAY_MS = 86_400_000;

/** Returns the filters for the deliveries that were given up in the last 24 hours, whenever they were received. */
export const givenUpToday = (): { readonly outcome: 'dead'; readonly given_up_from: string } => ({
  outcome: 'dead',
  given_up_from: new Date(Date.now() - DAY_MS).toISOString(),
});
