import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';

/** An advisory is the broker's notice about one message; `agent` is its recipient. */
export type AddressedAdvisory = { readonly tenant: string; readonly agent: string; readonly advisory: Acknowledgement.Advisory };

/** `revision` of the last event; -1 if the stream does not exist. */
export type AcknowledgementStream = { readonly state: Acknowledgement.Acknowledgements; readonly revision: number };

export type AcknowledgementLog = {
  readonly load: (tenant: string, agent: string) => Promise<AcknowledgementStream>;
  /**
   * Appends after the given revision. Does nothing and returns false if something else was appended in the meantime; the caller then loads
   * the stream again.
   */
  readonly append: (
    tenant: string,
    agent: string,
    revision: number,
    events: readonly Acknowledgement.AcknowledgementEvent[],
  ) => Promise<boolean>;
};

/** Records the advisories that are not recorded yet, in several appends, because their size is limited. */
const recordForAgent = async (log: AcknowledgementLog, epoch: string, group: readonly AddressedAdvisory[]): Promise<void> => {
  const { tenant, agent } = group[0]!;
  const decide = Acknowledgement.recordAdvisories(
    epoch,
    group.map(({ advisory }) => advisory),
  );
  for (;;) {
    const { state, revision } = await log.load(tenant, agent);
    const events = decide(state);
    if (events.length === 0) return;
    await log.append(tenant, agent, revision, events);
  }
};

/**
 * Records what runners acknowledged and the broker gave up. The agent's stream says what is recorded, so neither a repeat after a crash
 * nor a second process records an advisory twice. `epoch`: of the JetStream stream with the advisories.
 */
export const recordAcknowledgements = async (
  log: AcknowledgementLog,
  epoch: string,
  advisories: readonly AddressedAdvisory[],
): Promise<void> => {
  const groups = Map.groupBy(advisories, ({ tenant, agent }) => `${tenant}.${agent}`);
  for (const group of groups.values()) await recordForAgent(log, epoch, group);
};

/** Records a message of a session as settled whose acknowledgement was lost. */
export const recordLostSettlement = async (
  log: AcknowledgementLog,
  { tenant, agent }: { readonly tenant: string; readonly agent: string },
  message: Acknowledgement.SettledSessionMessage,
): Promise<void> => {
  for (;;) {
    const { state, revision } = await log.load(tenant, agent);
    const events = Acknowledgement.settleMessage(message)(state);
    if (events.length === 0 || (await log.append(tenant, agent, revision, events))) return;
  }
};
