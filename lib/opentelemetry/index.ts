/** `quorate/opentelemetry`: spans and metrics of an instance. It needs `@opentelemetry/api`, and no other package. */
export { instrument, type InstrumentOptions } from './instrument.js';
