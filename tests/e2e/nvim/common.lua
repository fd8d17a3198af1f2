-- What the scripts of this folder share; each loads it from beside itself.

local common = {}

function common.say(key, value)
  io.stdout:write(vim.fn.json_encode({ [key] = value }) .. "\n")
end

function common.text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n") .. "\n"
end

-- Runs a script's main function, and quits the editor with 1 if it fails.
function common.run(main)
  local fine, message = xpcall(main, debug.traceback)
  if not fine then
    io.stderr:write(message .. "\n")
  end
  vim.cmd(fine and "qa!" or "cquit 1")
end

return common
