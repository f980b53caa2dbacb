import { LabIcon } from '@jupyterlab/ui-components';

/** A line of states with a branch. */
export const timelineIcon = new LabIcon({
  name: 'petri-timeline:timeline',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="none" stroke="#616161" stroke-width="2">
    <path d="M7 7.5v9M7 12h6.5a3 3 0 0 0 3-3V7.5"/>
  </g>
  <g class="jp-icon3" fill="#616161">
    <circle cx="7" cy="5" r="3"/><circle cx="7" cy="19" r="3"/><circle cx="16.5" cy="5" r="3"/>
  </g>
</svg>`
});

/** A label on a string. */
export const nameIcon = new LabIcon({
  name: 'petri-timeline:name',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" fill-rule="evenodd"
    d="M3 4a1 1 0 0 1 1-1h8.2a2 2 0 0 1 1.4.6l7 7a2 2 0 0 1 0 2.8l-7.2 7.2a2 2 0 0 1-2.8 0l-7-7A2 2 0 0 1 3 12.2z
      M5 5v7l7 7 7-7-7-7zM8 6.3a1.7 1.7 0 1 1 0 3.4 1.7 1.7 0 1 1 0-3.4z"/>
</svg>`
});
