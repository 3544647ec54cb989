import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';

/** An advisory of the broker (a notice about one message), with the agent to which the message was sent. */
export type AddressedAdvisory = { readonly tenant: string; readonly agent: string; readonly advisory: Acknowledgement.Advisory };

/**
 * The acknowledgement stream of an agent: its state, and the revision of its last event (-1 if the stream does not
 * exist).
 */
export type AcknowledgementStream = { readonly state: Acknowledgement.Acknowledgements; readonly revision: number };

export type AcknowledgementLog = {
  readonly load: (tenant: string, agent: string) => Promise<AcknowledgementStream>;
  /**
   * Appends events after the given revision. Does nothing if another process has appended to the stream in the
   * meantime; the caller then loads the stream again.
   */
  readonly append: (
    tenant: string,
    agent: string,
    revision: number,
    events: readonly Acknowledgement.AcknowledgementEvent[],
  ) => Promise<void>;
};

/**
 * Records those advisories about one agent that are not recorded yet. Because one append has a limited size, several
 * appends may be needed.
 */
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
 * Records, for each agent, which messages its runners acknowledged and which ones the broker gave up. The agent's
 * stream contains which advisories are recorded, so neither a repeat after a crash nor a second process records an
 * advisory twice. `epoch` identifies the JetStream stream that contains the advisories.
 */
export const recordAcknowledgements = async (
  log: AcknowledgementLog,
  epoch: string,
  advisories: readonly AddressedAdvisory[],
): Promise<void> => {
  const groups = Map.groupBy(advisories, ({ tenant, agent }) => `${tenant}.${agent}`);
  for (const group of groups.values()) await recordForAgent(log, epoch, group);
};
