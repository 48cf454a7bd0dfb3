/** `quorate elect`: a command that runs while this process leads. */
import { hostname } from 'node:os';
import type { Leadership } from '../../election/public.js';
import type { Arguments } from '../arguments.js';
import { connected } from '../run/connecting.js';
import { runUnder } from '../run/holding.js';
import { holdingTimes } from '../run/holding-times.js';
import { tellOfOutages } from '../run/outages.js';
import { exitCodeOfSignal, Signals } from '../run/signals.js';
import { connect, settingsOf } from '../settings.js';
import { complain } from '../terminal.js';

/** Campaigns again after a loss, until the command ends by itself or a signal comes. @returns the command's exit code */
export async function elect(args: Arguments, command: readonly string[]): Promise<number> {
  const name = args.name();
  const { ttlMs, killAfterMs } = holdingTimes(args, command);
  const value = args.text('value') ?? hostname();
  const connection = connect(settingsOf(args));
  const signals = new Signals();
  try {
    tellOfOutages(connection.redlock);
    await connected(connection.transports, signals.ending);
    const election = connection.redlock.election(name, { ttlMs });
    for (;;) {
      const leadership = await campaign(() => election.campaign(value, { signal: signals.ending }), signals);
      if (typeof leadership === 'number') return leadership;
      try {
        const launch = { command, killAfterMs };
        const { exitCode, isLost } = await runUnder(leadership, name, launch, signals);
        if (!isLost || signals.asked.aborted) return exitCode;
      } finally {
        await leadership.release();
      }
      complain(`${name}: campaigning again`);
    }
  } finally {
    await connection.close();
    signals.close();
  }
}

/** The leadership, or the exit code for having none. */
async function campaign(wait: () => Promise<Leadership>, signals: Signals): Promise<Leadership | number> {
  try {
    return await wait();
  } catch (error) {
    if (signals.ended === undefined) throw error;
    return exitCodeOfSignal(signals.ended);
  }
}
